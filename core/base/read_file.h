// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_READ_FILE_H_
#define HOLDFAST_CORE_BASE_READ_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace holdfast {

// Returns the contents of a file that an operator names. Every error names the
// file. INVALID_ARGUMENT: the file has more than `max_bytes`. Other errors are
// the system's.
absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_READ_FILE_H_
