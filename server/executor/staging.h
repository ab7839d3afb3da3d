// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_STAGING_H_
#define HOLDFAST_SERVER_EXECUTOR_STAGING_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/context.h"
#include "core/cuda/host_memory.h"

namespace holdfast::executor {

// Page-locked blocks of one size, through which bytes of clients pass on their
// way to and from a device. Bounded: whoever wants one more waits until the
// device has finished with another. Thread-safe.
class Staging {
 public:
  Staging(std::shared_ptr<const cuda::Context> context, size_t block_bytes,
          size_t max_blocks)
      : context_(std::move(context)),
        block_bytes_(block_bytes),
        max_blocks_(max_blocks) {}

  // Gives itself back. Must not outlive the Staging.
  class Block {
   public:
    Block(Staging* staging, std::unique_ptr<cuda::HostMemory> memory)
        : staging_(staging), memory_(std::move(memory)) {}
    ~Block() { staging_->GiveBack(std::move(memory_)); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    char* data() const { return memory_->data(); }
    CUdeviceptr device_address() const { return memory_->device_address(); }

   private:
    Staging* const staging_;
    std::unique_ptr<cuda::HostMemory> memory_;
  };

  // Waits for a block. Whoever holds blocks that only it can give back must
  // not wait for one more: two of that kind would wait for each other.
  absl::StatusOr<std::shared_ptr<Block>> Acquire();

  // nullptr rather than waiting.
  absl::StatusOr<std::shared_ptr<Block>> TryAcquire();

  // Would TryAcquire get a block? If not, `when_free` is called once one is
  // given back, by the thread that does so.
  bool HasFree(const std::function<void()>& when_free);

  size_t block_bytes() const { return block_bytes_; }

 private:
  absl::StatusOr<std::shared_ptr<Block>> Get(bool wait);
  void GiveBack(std::unique_ptr<cuda::HostMemory> memory);

  const std::shared_ptr<const cuda::Context> context_;
  const size_t block_bytes_;
  const size_t max_blocks_;
  absl::Mutex mutex_;
  size_t made_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<cuda::HostMemory>> free_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> when_free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_STAGING_H_
