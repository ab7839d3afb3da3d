// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_COMPILE_SOURCE_LINES_H_
#define HOLDFAST_CLIENT_CPP_COMPILE_SOURCE_LINES_H_

#include <string>

#include "absl/strings/string_view.h"

namespace holdfast {

// The sources that this process has compiled last, so that a fault's report can
// quote the line. Thread-safe.

// Keeps a source by its name, "put.cu". The oldest sources are dropped beyond
// 4 MiB in all; a source of more than 1 MiB is not kept.
void NoteSource(absl::string_view name, absl::string_view text);

// Returns the text of a line, of "put.cu:3", without the space around it. Of
// sources of one name those count that contain the name of the kernel. Empty if
// the line is not known, or if these sources differ in it.
std::string SourceLineAt(absl::string_view place, absl::string_view kernel);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_COMPILE_SOURCE_LINES_H_
