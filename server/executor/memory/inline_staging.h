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

// Page-locked memory for the inline bytes of commands and their results, given
// out in spans. Many spans share a block, so that small spans are limited by
// their bytes and not by their number. Belongs to the submission thread; any
// thread may destroy a span.
class InlineStaging {
 public:
  // REQUIRES: nothing else uses the pool.
  explicit InlineStaging(std::shared_ptr<Staging> staging)
      : staging_(std::move(staging)) {}
  // Closes the pool, so that its memory ends with the session: see
  // Staging::Close.
  ~InlineStaging();
  InlineStaging(const InlineStaging&) = delete;
  InlineStaging& operator=(const InlineStaging&) = delete;

  struct Span {
    char* data = nullptr;
    CUdeviceptr device_address = 0;
    Staging::BlockPtr block;  // keeps the memory alive
  };

  // Returns true if Take would find room for `size` bytes. Otherwise returns
  // false, and the thread that next frees a block calls `when_free`, once.
  bool HasRoom(size_t size, const std::function<void()>& when_free);

  // Takes `size` bytes, without blocking. They are free again when the span is
  // destroyed. INVALID_ARGUMENT: `size` is more than a block has.
  // RESOURCE_EXHAUSTED: there is no room.
  absl::StatusOr<Span> Take(size_t size);

 private:
  bool Fits(size_t size) const {
    return current_ != nullptr && size <= staging_->block_bytes() - used_;
  }

  const std::shared_ptr<Staging> staging_;
  Staging::BlockPtr current_;
  size_t used_ = 0;  // bytes of current_
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MEMORY_INLINE_STAGING_H_
