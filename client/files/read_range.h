// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_FILES_READ_RANGE_H_
#define HOLDFAST_CLIENT_FILES_READ_RANGE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace holdfast {

// Returns the size of a file in bytes. INVALID_ARGUMENT: `fd` is not a regular
// file. `fd` is borrowed.
absl::StatusOr<uint64_t> FileSize(int fd);

// Reads `size` bytes at `offset`, independently of the file's position.
// OUT_OF_RANGE: the file is too short. `fd` is borrowed.
absl::Status ReadRange(int fd, char* data, size_t size, uint64_t offset);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_FILES_READ_RANGE_H_
