// SPDX-License-Identifier: Apache-2.0
//
// Memory that the daemon and an executor share for the transfers of a remote
// client, one after another. It has a ring of messages in each direction
// (core/base/ring_pair.h), and slots for bytes. The sending end takes a slot,
// fills it and names it in a message. The other end uses the bytes in the slot
// and returns it.
//
//   const uint32_t slot = pipe.TakeSlot();    // the sender, if HasFreeSlot()
//   std::memcpy(pipe.data(slot), ...);
//   pipe.Write(FilledSlot(slot, size));
//   // the other end:
//   pipe.Read(&message);                      // a slot: it is ours
//   pipe.Return(message.slot().index());      // when its bytes are used
//
// The other end is not trusted: Read refuses a message with a slot that the
// other end does not have. The reader must check the bytes, which may change at
// any time.
#ifndef HOLDFAST_SERVER_RELAY_TRANSFER_PIPE_H_
#define HOLDFAST_SERVER_RELAY_TRANSFER_PIPE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/ring_pair.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/transfers.pb.h"
#include "proto/protocol_limits.h"

namespace holdfast {

// One end of a pipe.
class TransferPipe {
 public:
  using Message = internal::PipeMessage;
  enum class End { kDaemon, kExecutor };

  // The call to the executor by which a pipe is made
  // (server/relay/ring_call.h).
  static constexpr char kMethod[] = "/holdfast.internal.TransferPipes/Serve";

  static constexpr size_t kSlotBytes = kMaxChunkBytes;
  // There are several slots, so that the device and the network work at the
  // same time.
  static constexpr uint32_t kSlots = 4;
  // The most pipes that a session's transfers use at a time.
  static constexpr size_t kMaxPipes = 16;

  // Returns a memfd that both ends map. Its pages are allocated on their first
  // use.
  static absl::StatusOr<UniqueFd> CreateMemory();

  // Maps one end; called once for each end. FAILED_PRECONDITION: `memfd` was
  // not made by CreateMemory.
  static absl::StatusOr<std::unique_ptr<TransferPipe>> Map(int memfd, End end);

  // Reads the other end's next message. Returns false if there is none; does
  // not wait. INVALID_ARGUMENT, DATA_LOSS: the message is malformed, or names a
  // slot that the other end does not have. REQUIRES: one thread at a time.
  absl::StatusOr<bool> Read(Message* message);
  // Returns true if there is a message. Costs one load.
  bool Readable() const { return rings_->reader().Ready(); }
  // Blocks until there is a message, or Interrupt or Close is called, for at
  // most `limit`. `bytes` is the size of the transfer: during a large one, the
  // thread sleeps at once instead of polling first. REQUIRES: as Read.
  void Await(uint64_t bytes, absl::Duration limit);
  // Ends the running Await, or the next one if none is running. Any thread may
  // call it.
  void Interrupt() { rings_->reader().Interrupt(); }

  // Writes a message; blocks while the ring is full. Any thread may call it.
  // CANCELLED: the pipe is closed.
  absl::Status Write(const Message& message);
  // Writes a message without blocking. Returns false if the pipe is closed or
  // the ring is full. Any thread may call it.
  bool TryWrite(const Message& message);

  // Returns true if this end can take a slot.
  bool HasFreeSlot() const;
  // Takes a slot. REQUIRES: HasFreeSlot; one thread at a time.
  uint32_t TakeSlot();
  // Returns the bytes of a slot. REQUIRES: this end has taken or received it.
  char* data(uint32_t slot) const {
    return rings_->behind() + slot * kSlotBytes;
  }
  // Returns a received slot to its sender. The result is as for TryWrite.
  bool Return(uint32_t slot);
  // Returns true if all slots are free, as they are between two transfers.
  bool IsEmpty() const;

  // Closes this end: nothing more can be written. Any thread may call it.
  void Close() { rings_->Close(); }
  // Returns true if this end was closed. Messages that the other end wrote
  // before can still be read.
  bool closed() const { return rings_->reader().closed(); }

 private:
  explicit TransferPipe(std::unique_ptr<RingPair> rings)
      : rings_(std::move(rings)) {}
  // Checks the slot that a message names, and notes its new owner.
  absl::Status Note(const Message& message);

  const std::unique_ptr<RingPair> rings_;
  absl::Mutex write_mutex_;  // held while one message is written
  mutable absl::Mutex mutex_;
  // One bit for each slot that this end has taken or received, and that was not
  // returned.
  uint32_t used_slots_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Return the messages that name a slot: filled with `size` bytes, or returned.
internal::PipeMessage FilledSlot(uint32_t slot, size_t size);
internal::PipeMessage ReturnedSlot(uint32_t slot);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_TRANSFER_PIPE_H_
