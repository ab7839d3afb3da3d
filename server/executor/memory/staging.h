// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_MEMORY_STAGING_H_
#define HOLDFAST_SERVER_EXECUTOR_MEMORY_STAGING_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/context.h"
#include "server/account/quota.h"
#include "server/executor/memory/pinned_memory.h"

namespace holdfast::executor {

// A pool of page-locked blocks of one size, for the bytes in commands and
// results on the way to and from a device. The number of blocks is limited.
// Thread-safe.
class Staging : public std::enable_shared_from_this<Staging> {
 public:
  // Makes an empty pool. Blocks are allocated, and charged to `quota`, at their
  // first use.
  static std::shared_ptr<Staging> Create(
      std::shared_ptr<const cuda::Context> context,
      std::shared_ptr<Quota> quota, size_t block_bytes, size_t max_blocks);

  // A block in use. The destructor gives the memory back to the pool; any
  // thread may destroy a block.
  class Block {
   public:
    Block(std::shared_ptr<Staging> staging,
          std::unique_ptr<PinnedMemory> memory)
        : staging_(std::move(staging)), memory_(std::move(memory)) {}
    ~Block() { staging_->GiveBack(std::move(memory_)); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    char* data() const { return memory_->data(); }
    CUdeviceptr device_address() const { return memory_->device_address(); }

   private:
    const std::shared_ptr<Staging> staging_;
    std::unique_ptr<PinnedMemory> memory_;
  };
  using BlockPtr = std::shared_ptr<const Block>;

  // Returns a block, without blocking; null if all are in use. Fails as
  // PinnedMemory::Allocate.
  absl::StatusOr<BlockPtr> TryAcquire();

  // Returns true if a block is free. If not, stores `when_free`, which the
  // thread that gives the next block back calls once. A later call replaces the
  // stored function.
  bool HasFree(const std::function<void()>& when_free);

  // Frees the free blocks at the end of the session. Blocks that are in use are
  // leaked when they are given back, because the driver may be unloaded by then
  // and the process is about to end.
  void Close();

  size_t block_bytes() const { return block_bytes_; }

 private:
  Staging(std::shared_ptr<const cuda::Context> context,
          std::shared_ptr<Quota> quota, size_t block_bytes, size_t max_blocks)
      : context_(std::move(context)),
        quota_(std::move(quota)),
        block_bytes_(block_bytes),
        max_blocks_(max_blocks) {}

  void GiveBack(std::unique_ptr<PinnedMemory> memory);

  const std::shared_ptr<const cuda::Context> context_;
  const std::shared_ptr<Quota> quota_;
  const size_t block_bytes_;
  const size_t max_blocks_;
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t in_use_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<PinnedMemory>> free_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> when_free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MEMORY_STAGING_H_
