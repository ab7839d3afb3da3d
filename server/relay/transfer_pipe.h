// SPDX-License-Identifier: Apache-2.0
//
// Memory that the daemon and an executor share, through which the transfers of
// a remote client pass, one after another: a ring of messages each way
// (core/base/ring_pair.h), and slots with the bytes. The end that sends the
// bytes of a transfer takes a slot, has it filled and names it in a message;
// the other end uses the bytes where they lie and returns the slot.
//
//   const uint32_t slot = pipe.TakeSlot();    // the sender, if HasFreeSlot()
//   std::memcpy(pipe.data(slot), ...);
//   pipe.Write(FilledSlot(slot, size));
//   // the other end:
//   pipe.Read(&message);                      // a slot: it is ours
//   pipe.Return(message.slot().index());      // when its bytes are used
//
// The other end is not trusted: Read lets no slot through that it must not
// name. Only how the bytes look is for the reader to judge, and they may change
// at any time.
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

// One end.
class TransferPipe {
 public:
  using Message = internal::PipeMessage;
  enum class End { kDaemon, kExecutor };

  // The call to the executor by which a pipe is made
  // (server/relay/ring_call.h).
  static constexpr char kMethod[] = "/holdfast.internal.TransferPipes/Serve";

  static constexpr size_t kSlotBytes = kMaxChunkBytes;
  // While the device has some, the network has others.
  static constexpr uint32_t kSlots = 4;
  // That a session's transfers use at a time.
  static constexpr size_t kMaxPipes = 16;

  // The memfd to share. Pages come with their first use.
  static absl::StatusOr<UniqueFd> CreateMemory();

  // Once an end. FAILED_PRECONDITION: not a memfd like those of CreateMemory.
  static absl::StatusOr<std::unique_ptr<TransferPipe>> Map(int memfd, End end);

  // The other end's next message; false: none is there yet. Does not wait. One
  // thread at a time. INVALID_ARGUMENT, DATA_LOSS: it is none, or names a slot
  // that is not its own to give or to return.
  absl::StatusOr<bool> Read(Message* message);
  // Is there anything to read? At the cost of a load.
  bool Readable() const { return rings_->reader().Ready(); }
  // Waits until there is, or until Interrupt or Close, for so long at most. As
  // Read. `bytes` are those of the transfer: while many are on their way, the
  // thread leaves its processor to others, and does not look before it sleeps.
  void Await(uint64_t bytes, absl::Duration limit);
  // Ends this Await, or else the next one. Any thread.
  void Interrupt() { rings_->reader().Interrupt(); }

  // Any thread. CANCELLED: closed.
  absl::Status Write(const Message& message);

  // Has this end a slot for bytes to send, or has the other end them all?
  bool HasFreeSlot() const;
  // Takes one. One thread at a time. REQUIRES: HasFreeSlot.
  uint32_t TakeSlot();
  // REQUIRES: a slot that was taken, or has come.
  char* data(uint32_t slot) const {
    return rings_->behind() + slot * kSlotBytes;
  }
  // Gives a slot that has come back to the sender. Any thread; never waits.
  // False: the pipe is closed, or the other end does not read.
  bool Return(uint32_t slot);
  // Are all slots free? Between two transfers they are.
  bool IsEmpty() const;

  // This end, for its own threads: nothing more can be written. Any thread.
  void Close() { rings_->Close(); }
  // Messages that came before may still be read.
  bool closed() const { return rings_->reader().closed(); }

 private:
  explicit TransferPipe(std::unique_ptr<RingPair> rings)
      : rings_(std::move(rings)) {}
  // Notes what a message does to slots.
  absl::Status Note(const Message& message);

  const std::unique_ptr<RingPair> rings_;
  absl::Mutex write_mutex_;  // held while one message is written
  mutable absl::Mutex mutex_;
  // One bit each: taken, or come, and not returned yet.
  uint32_t used_slots_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The messages that name a slot.
internal::PipeMessage FilledSlot(uint32_t slot, size_t size);
internal::PipeMessage ReturnedSlot(uint32_t slot);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RELAY_TRANSFER_PIPE_H_
