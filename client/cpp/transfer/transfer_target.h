// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_TARGET_H_
#define HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_TARGET_H_

#include <cstdint>

#include "absl/status/status.h"

namespace holdfast {

// A range of a buffer, and the stream in whose order its bytes are copied.
struct TransferTarget {
  uint64_t buffer = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t stream = 0;
  uint64_t buffer_size = 0;

  // Fails with OUT_OF_RANGE if the range is beyond the buffer's end. A copy in
  // parts calls this first, so that it copies either all bytes or none.
  absl::Status CheckRange() const;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_TRANSFER_TRANSFER_TARGET_H_
