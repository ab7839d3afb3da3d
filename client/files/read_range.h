// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_FILES_READ_RANGE_H_
#define HOLDFAST_CLIENT_FILES_READ_RANGE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace holdfast {

// Bytes of the file. INVALID_ARGUMENT: not a regular file. `fd` is borrowed.
absl::StatusOr<uint64_t> FileSize(int fd);

// Reads `size` bytes from `offset` on, wherever the file's position is.
// OUT_OF_RANGE: the file ends before. `fd` is borrowed.
absl::Status ReadRange(int fd, char* data, size_t size, uint64_t offset);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_FILES_READ_RANGE_H_
