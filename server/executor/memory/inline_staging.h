// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_MEMORY_INLINE_STAGING_H_
#define HOLDFAST_SERVER_EXECUTOR_MEMORY_INLINE_STAGING_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "server/executor/memory/staging.h"

namespace holdfast::executor {

// Page-locked memory for the bytes that come and go in commands: many share a
// block, so that small ones are bounded by their bytes and not by their number.
// Belongs to the submission thread; the spans may be dropped by any.
class InlineStaging {
 public:
  explicit InlineStaging(std::shared_ptr<Staging> staging)
      : staging_(std::move(staging)) {}

  struct Span {
    char* data = nullptr;
    CUdeviceptr device_address = 0;
    Staging::BlockPtr block;  // keeps the bytes
  };

  // Would Take get `size` bytes? If not, `when_free` is called once there may
  // be room, by the thread that makes it.
  bool HasRoom(size_t size, const std::function<void()>& when_free);

  // At most a block's size. RESOURCE_EXHAUSTED: there is no room.
  absl::StatusOr<Span> Take(size_t size);

 private:
  bool Fits(size_t size) const {
    return current_ != nullptr && size <= staging_->block_bytes() - used_;
  }

  const std::shared_ptr<Staging> staging_;
  Staging::BlockPtr current_;
  size_t used_ = 0;  // bytes of it
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MEMORY_INLINE_STAGING_H_
