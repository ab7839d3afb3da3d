// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_MEMORY_STAGING_H_
#define HOLDFAST_SERVER_EXECUTOR_MEMORY_STAGING_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/context.h"
#include "server/account/quota.h"
#include "server/executor/memory/pinned_memory.h"

namespace holdfast::executor {

// Page-locked blocks of one size, through which bytes of clients pass on their
// way to and from a device: so many and no more. Thread-safe.
class Staging : public std::enable_shared_from_this<Staging> {
 public:
  // They are made when they are first used, and charged to `quota` then.
  static std::shared_ptr<Staging> Create(
      std::shared_ptr<const cuda::Context> context,
      std::shared_ptr<Quota> quota, size_t block_bytes, size_t max_blocks);

  // Gives itself back when it is dropped, from any thread.
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

  // nullptr: no more than `left` are free, which are for others.
  absl::StatusOr<BlockPtr> TryAcquire(size_t left = 0);
  // Waits until one is free. nullptr: `cancelled` meanwhile.
  absl::StatusOr<BlockPtr> Acquire(const std::stop_token& cancelled);

  // Would TryAcquire get a block? If not, `when_free` is called once one is
  // given back, by the thread that does so.
  bool HasFree(const std::function<void()>& when_free);

  // The session has ended. Blocks that gRPC still holds are not freed when they
  // come back, since the driver may be gone by then: the process ends.
  void Close();

  size_t block_bytes() const { return block_bytes_; }

 private:
  Staging(std::shared_ptr<const cuda::Context> context,
          std::shared_ptr<Quota> quota, size_t block_bytes, size_t max_blocks)
      : context_(std::move(context)),
        quota_(std::move(quota)),
        block_bytes_(block_bytes),
        max_blocks_(max_blocks) {}

  // Makes a block that is counted already.
  absl::StatusOr<BlockPtr> MakeBlock();
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
