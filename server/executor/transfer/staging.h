// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_STAGING_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_STAGING_H_

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
#include "server/executor/account/pinned_memory.h"
#include "server/executor/account/quota.h"

namespace holdfast::executor {

// Page-locked blocks of one size, through which bytes of clients pass on their
// way to and from a device. Bounded, and shared so that whoever was let in
// never waits for another's client. Thread-safe.
class Staging : public std::enable_shared_from_this<Staging> {
 public:
  class Place;

  // One block is reserved for each of the places; the others go to whichever
  // transfer asks first. They are charged to `quota` when they are made. With
  // `memory`, which has room for all, they lie there, one after another.
  static std::shared_ptr<Staging> Create(
      std::shared_ptr<const cuda::Context> context,
      std::shared_ptr<Quota> quota, size_t block_bytes, size_t max_blocks,
      size_t max_places, std::shared_ptr<char> memory = nullptr);

  // Gives itself back when it is dropped, from any thread.
  class Block {
   public:
    Block(std::shared_ptr<Staging> staging, std::shared_ptr<Place> place,
          std::unique_ptr<PinnedMemory> memory)
        : staging_(std::move(staging)),
          place_(std::move(place)),
          memory_(std::move(memory)) {}
    ~Block() { staging_->GiveBack(std::move(memory_), place_.get()); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    char* data() const { return memory_->data(); }
    CUdeviceptr device_address() const { return memory_->device_address(); }

   private:
    const std::shared_ptr<Staging> staging_;
    const std::shared_ptr<Place> place_;
    std::unique_ptr<PinnedMemory> memory_;
  };
  using BlockPtr = std::shared_ptr<const Block>;

  // One user of several blocks. The first it gets without waiting, however long
  // others keep theirs; more than one as there are. Its blocks keep it alive.
  class Place : public std::enable_shared_from_this<Place> {
   public:
    // REQUIRES: AwaitPlace has counted it.
    explicit Place(std::shared_ptr<Staging> staging)
        : staging_(std::move(staging)) {}
    ~Place() { staging_->Leave(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // nullptr: it has blocks, and no other is free.
    absl::StatusOr<BlockPtr> TryAcquire();
    // Waits until TryAcquire would get one. nullptr: `cancelled` meanwhile.
    absl::StatusOr<BlockPtr> Acquire(const std::stop_token& cancelled);

   private:
    friend class Staging;
    bool MayHaveAnother() const
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(staging_->mutex_) {
      return held_ == 0 || staging_->HasShared();
    }

    const std::shared_ptr<Staging> staging_;
    size_t held_ = 0;  // guarded by the staging's mutex
  };

  // Waits until one is free. nullptr: `cancelled` meanwhile.
  std::shared_ptr<Place> AwaitPlace(const std::stop_token& cancelled);

  // A block without a place; nullptr: none is free.
  absl::StatusOr<BlockPtr> TryAcquire();

  // Would TryAcquire get a block? If not, `when_free` is called once one is
  // given back, by the thread that does so.
  bool HasFree(const std::function<void()>& when_free);

  // The session has ended. Blocks that gRPC still holds are not freed when they
  // come back, since the driver may be gone by then: the process ends.
  void Close();

  size_t block_bytes() const { return block_bytes_; }

 private:
  Staging(std::shared_ptr<const cuda::Context> context,
          std::shared_ptr<Quota> quota, size_t block_bytes, size_t max_blocks,
          size_t max_places, std::shared_ptr<char> memory);

  // Is there one that is kept for nobody?
  bool HasShared() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return shared_ < max_shared_;
  }
  // Makes a block that is counted already.
  absl::StatusOr<BlockPtr> MakeBlock(std::shared_ptr<Place> place);
  absl::StatusOr<std::unique_ptr<PinnedMemory>> MakeMemory();
  void GiveBack(std::unique_ptr<PinnedMemory> memory, Place* place);
  void Leave();

  const std::shared_ptr<const cuda::Context> context_;
  const std::shared_ptr<Quota> quota_;
  const size_t block_bytes_;
  const size_t max_places_;
  const size_t max_shared_;
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t places_ ABSL_GUARDED_BY(mutex_) = 0;
  // Blocks in use, but for the first of each place.
  size_t shared_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::unique_ptr<PinnedMemory>> free_ ABSL_GUARDED_BY(mutex_);
  // Blocks of `memory_` that are not made yet, the next one last.
  const std::shared_ptr<char> memory_;
  std::vector<char*> unmade_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> when_free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_STAGING_H_
