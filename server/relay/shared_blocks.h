// SPDX-License-Identifier: Apache-2.0
//
// Memory that the daemon and an executor share, in blocks: the bytes of remote
// clients pass through it, and a message with each block's number goes by
// gRPC. Each end has blocks of its own. It takes one and has it filled; whoever
// has got the message reads the bytes and gives the block back.
//
//   const auto block = blocks.Take(size);     // if one is free
//   std::memcpy(blocks.data(*block), ...);
//   blocks.NoteWritten(*block);
//   // the other end:
//   if (blocks.IsTheirs(block)) { read; blocks.GiveBack(block); }
#ifndef HOLDFAST_SERVER_RELAY_SHARED_BLOCKS_H_
#define HOLDFAST_SERVER_RELAY_SHARED_BLOCKS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"

namespace holdfast {

// One end. Thread-safe.
class SharedBlocks {
 public:
  enum class End { kDaemon, kExecutor };

  static constexpr size_t kBlockBytes = size_t{1} << 20;
  // The daemon's are for what is uploaded, the executor's for all else that it
  // copies to and from devices in blocks.
  static constexpr uint32_t kDaemonBlocks = 32;
  static constexpr uint32_t kExecutorBlocks = 64;

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
  // The same of one that the caller knows to be free: this end's `number`th.
  Block TakeOwn(uint32_t number, size_t size);

  // Is there such a block, and does this ticket still hold it?
  bool IsTaken(const Block& block) const;
  // And is it one of the other end's?
  bool IsTheirs(const Block& block) const {
    return IsTaken(block) && block.index - first_ >= count_;
  }

  // REQUIRES: IsTaken.
  char* data(const Block& block) const { return data(block.index); }
  // The memory of this end's first block, and of the other's; the others
  // follow.
  char* own_data() const { return data(first_); }
  char* their_data() const { return data(first_ == 0 ? count_ : 0); }

  // Called by the holder of the block: its bytes are written. The next holder
  // is ordered after this call by way of the other process, which
  // ThreadSanitizer does not see; this tells it.
  void NoteWritten(const Block& block);

  // By either end. Nothing happens if the ticket does not hold it any more.
  void GiveBack(const Block& block);

  // Blocks until either end has given it back, or until `cancelled`, which may
  // be noticed half a second late: to give the block back is quicker. By the
  // one who took it.
  void AwaitReturn(const Block& block, const std::stop_token& cancelled) const;

 private:
  // The holder's ticket; 0: free. On a line of the cache each.
  struct alignas(64) Holder {
    std::atomic<uint32_t> ticket;
  };

  SharedBlocks(FileMapping mapping, End end);
  uint32_t NewTicket();
  char* data(uint32_t index) const { return bytes_ + index * kBlockBytes; }

  const FileMapping mapping_;
  Holder* const holders_;
  char* const bytes_;
  const uint32_t first_;  // of this end's
  const uint32_t count_;
  // Not from 1 in each memory: a call that was begun with the memory of a dead
  // executor may reach its successor, where its tickets must hold nothing.
  std::atomic<uint32_t> last_ticket_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_SHARED_BLOCKS_H_
