// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_FILE_CONFINEMENT_H_
#define HOLDFAST_SERVER_COMPILE_FILE_CONFINEMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace holdfast {

// From now on, and for good, this thread and those that it starts can open
// files only for reading, and only below these directories; where the kernel
// knows how, they can also reach no TCP port, and no process outside by a
// signal or an abstract socket. Directories that do not exist are skipped.
// UNAVAILABLE: the kernel has no Landlock.
absl::Status AllowFilesBelow(const std::vector<std::string>& directories);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_FILE_CONFINEMENT_H_
