// SPDX-License-Identifier: Apache-2.0
//
// Memory that the daemon and an executor share, in blocks: the bytes of remote
// clients pass through it, and a message with each block's number goes by
// gRPC. The sender takes a block and writes to it; whoever has got the message
// reads the bytes and gives the block back.
//
//   const auto block = blocks.Take(size);     // if one is free
//   std::memcpy(blocks.data(*block), ...);
//   blocks.NoteWritten(*block);
//   // the other end:
//   if (blocks.IsTaken(block)) { read; blocks.GiveBack(block); }
#ifndef HOLDFAST_SERVER_RELAY_SHARED_BLOCKS_H_
#define HOLDFAST_SERVER_RELAY_SHARED_BLOCKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// One end. Thread-safe.
class SharedBlocks {
 public:
  enum class End { kDaemon, kExecutor };

  static constexpr size_t kBlockBytes = size_t{1} << 20;
  static constexpr uint32_t kBlocks = 32;  // that each end may take

  // A block while it is taken. From the other end it is a claim; a ticket is
  // never used again, so an old one does no harm.
  struct Block {
    uint32_t index = 0;
    uint32_t ticket = 0;
    uint32_t size = 0;  // bytes in use
  };

  // The memfd to share, of a fixed size. Pages come with their first use.
  static absl::StatusOr<UniqueFd> CreateMemory();

  // Once an end.
  static absl::StatusOr<std::unique_ptr<SharedBlocks>> Map(int memfd, End end);

  // nullopt: none of this end's is free, or `size` is more than one has.
  std::optional<Block> Take(size_t size);

  // Is there such a block, and does this ticket still hold it?
  bool IsTaken(const Block& block) const;

  // REQUIRES: IsTaken.
  char* data(const Block& block) const {
    return bytes_ + block.index * kBlockBytes;
  }

  // Called by the holder of the block: its bytes are written. The next holder
  // is ordered after this call by way of the other process, which
  // ThreadSanitizer does not see; this tells it.
  void NoteWritten(const Block& block);

  // By either end. Nothing happens if the ticket does not hold it any more.
  void GiveBack(const Block& block);

  // Blocks until either end has given it back. By the one who took it.
  void AwaitReturn(const Block& block) const;

  // For one of this end's whose message may be lost: it is taken back when the
  // other end has had more time than any client is given.
  void Abandon(const Block& block);

 private:
  static constexpr absl::Duration kAbandoned = absl::Minutes(10);

  // The holder's ticket; 0: free. On a line of the cache each.
  struct alignas(64) Holder {
    std::atomic<uint32_t> ticket;
  };
  struct Abandoned {
    Block block;
    absl::Time since;
  };

  SharedBlocks(FileMapping mapping, End end);
  void TakeBackAbandoned();

  const FileMapping mapping_;
  Holder* const holders_;
  char* const bytes_;
  const uint32_t first_;  // of this end's
  std::atomic<uint32_t> last_ticket_{0};
  absl::Mutex mutex_;
  std::deque<Abandoned> abandoned_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_SHARED_BLOCKS_H_
