// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_MEMORY_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_MEMORY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/cuda/context.h"
#include "server/executor/account/pinned_memory.h"
#include "server/executor/account/quota.h"
#include "server/executor/transfer/staging.h"
#include "server/relay/shared_blocks.h"

namespace holdfast::executor {

// The memory that a session's executor shares with the daemon, as devices use
// it: page-locked block by block, when the first bytes come in one, and charged
// to the account as staging. The executor's own blocks are the staging of all
// transfers; the bytes of one that is relayed pass through them as they are.
// Thread-safe.
class TransferMemory {
 public:
  // Transfers at a time that have a block in any case.
  static constexpr size_t kMaxPlaces = 32;

  TransferMemory(std::shared_ptr<const cuda::Context> context,
                 std::shared_ptr<Quota> quota,
                 std::shared_ptr<SharedBlocks> blocks);

  const std::shared_ptr<Staging>& staging() const { return staging_; }
  const std::shared_ptr<SharedBlocks>& blocks() const { return blocks_; }

  // Where devices find a block of the daemon's.
  absl::StatusOr<CUdeviceptr> AddressOf(const char* data);

  // Takes a block of the staging for the daemon, which is to read `size` bytes
  // of it. REQUIRES: it is the caller's, until it is given back.
  SharedBlocks::Block Lend(const Staging::Block& block, size_t size);

  // The session has ended, and no device uses the memory any more.
  void Close();

 private:
  const std::shared_ptr<const cuda::Context> context_;
  const std::shared_ptr<Quota> quota_;
  const std::shared_ptr<SharedBlocks> blocks_;
  const std::shared_ptr<Staging> staging_;
  absl::Mutex mutex_;
  // The daemon's; null: not page-locked yet.
  std::vector<std::unique_ptr<PinnedMemory>> theirs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_TRANSFER_MEMORY_H_
