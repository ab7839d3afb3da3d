// SPDX-License-Identifier: Apache-2.0
//
// Passes messages between two processes of one machine, through a ring of bytes
// in shared memory. The writer writes a message's length (32 bits, in the
// machine's byte order) and then the message; the reader takes both. A message
// may be larger than the ring.
//
// The ends do not trust each other. Each keeps its own counter privately and
// validates the other's; a message is copied before it is parsed; a sleeping
// end also wakes by a timer, in case the other end never wakes it.
#ifndef HOLDFAST_CORE_BASE_MESSAGE_RING_H_
#define HOLDFAST_CORE_BASE_MESSAGE_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace holdfast {

// The counters that the ends synchronise by, in shared memory.
struct RingCounts {
  alignas(64) std::atomic<uint64_t> written;  // bytes since the beginning
  alignas(64) std::atomic<uint64_t> read;
  // 1: the end sleeps on this word, a futex. The waker sets it to 0.
  alignas(64) std::atomic<uint32_t> reader_sleeps;
  alignas(64) std::atomic<uint32_t> writer_sleeps;
};
static_assert(sizeof(RingCounts) == 256);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// The memory of a ring; the owner of the ends keeps it mapped. `capacity` is a
// power of two.
struct RingMemory {
  RingCounts* counts = nullptr;
  char* bytes = nullptr;
  size_t capacity = 0;
};

// The writing end of an empty ring.
class RingWriter {
 public:
  explicit RingWriter(RingMemory memory) : memory_(memory) {}

  // Writes a message. Blocks while the ring has no room. After a failure the
  // ring may have a part of the message. CANCELLED: the writer is closed.
  // DATA_LOSS: the reader claims to have read bytes that were not written.
  // INVALID_ARGUMENT: the message has 4 GiB or more. REQUIRES: one thread at a
  // time, together with the functions below except for Close.
  absl::Status Write(absl::string_view message) { return Write({&message, 1}); }
  // Does the same for a message in parts, which are joined.
  absl::Status Write(absl::Span<const absl::string_view> parts);

  // Writes the message if all of it fits now. Returns false, and writes
  // nothing, if there is no room. Never blocks, even if the reader changes its
  // counter meanwhile. Fails as Write does.
  absl::StatusOr<bool> TryWrite(absl::string_view message) {
    return TryWrite({&message, 1});
  }
  absl::StatusOr<bool> TryWrite(absl::Span<const absl::string_view> parts);

  // Returns the place in the ring for a message of `size` bytes. The caller
  // writes the message there, and then calls Commit; no other call may write in
  // between. Returns null if there is no room now, or if the message would wrap
  // at the ring's end. The reader can change the bytes. Never blocks. Fails as
  // Write does.
  absl::StatusOr<char*> Reserve(size_t size) const;
  // Sends the message of `size` bytes at the place that Reserve returned.
  // REQUIRES: the last call was Reserve(size), and it did not return null.
  void Commit(size_t size);

  // Makes a waiting Write and all later writes fail with CANCELLED. Does not
  // tell the reader. Any thread may call it.
  void Close();

  // Returns the whole messages that the reader has not taken. Stops at a
  // message of more than `max_message_bytes`. REQUIRES: the ring is closed, and
  // there is no reader.
  std::vector<std::string> Unread(size_t max_message_bytes) const;

 private:
  // Copies the bytes, and publishes them only when it must wait.
  absl::Status Put(absl::string_view bytes);
  // Copies `bytes` after the written bytes. REQUIRES: the ring has room for
  // them.
  void Copy(absl::string_view bytes);
  // Blocks until there is room. Returns the number of bytes that fit.
  absl::StatusOr<size_t> AwaitRoom();
  // Returns the number of bytes that fit. Reads the reader's counter once.
  // Fails as Write.
  absl::StatusOr<size_t> Room() const;
  // Returns the bytes in the ring, by the reader's own counter.
  uint64_t Used() const;
  void Publish();

  const RingMemory memory_;
  uint64_t written_ = 0;
  std::atomic<bool> closed_{false};
};

// The reading end of an empty ring, or of a ring from which `read` bytes were
// taken.
class RingReader {
 public:
  RingReader(RingMemory memory, size_t max_message_bytes, uint64_t read = 0)
      : memory_(memory), max_message_bytes_(max_message_bytes), read_(read) {}

  // Returns true if there are unread bytes. Costs two loads. Any thread may
  // call it.
  bool Ready() const {
    return memory_.counts->written.load(std::memory_order_acquire) !=
           read_.load(std::memory_order_relaxed);
  }

  // Blocks until there are unread bytes, or until Close or Interrupt is called,
  // for at most `limit`. Polls for up to 25 ms before it sleeps, unless the
  // last sleep ended without an event. Another thread may call Read meanwhile.
  // REQUIRES: one thread at a time calls Await or Sleep.
  void Await(absl::Duration limit);
  // Blocks as Await does, but does not poll.
  void Sleep(absl::Duration limit);

  // Returns the next message, valid until the next call of Read; nullopt if no
  // complete message has arrived. Does not block. DATA_LOSS: the writer claims
  // to have written more bytes than fit. INVALID_ARGUMENT: the message has more
  // than `max_message_bytes`. REQUIRES: one thread at a time calls Read,
  // Release or InMessage.
  absl::StatusOr<std::optional<absl::string_view>> Read();

  // Transfers ownership of the memory of the message that Read has just
  // returned. The message stays valid as long as the result.
  std::unique_ptr<char[]> Release();

  // Returns true if Read has taken only a part of a message.
  bool InMessage() const { return length_got_ != 0; }

  // Ends the running Await, or else the next one, because the thread has other
  // work. Thread-safe.
  void Interrupt();

  // Ends the running Await and all later ones. Messages in the ring can still
  // be read. Thread-safe.
  void Close();
  bool closed() const { return closed_; }

 private:
  // Returns true if Await must end.
  bool Due() const { return Ready() || closed_ || interrupted_; }
  // Takes as many of the `available` bytes as fit into `size` after `got_`.
  void Take(char* bytes, size_t size, uint64_t* available);
  void Publish();

  const RingMemory memory_;
  const size_t max_message_bytes_;
  std::atomic<uint64_t> read_;
  // The message that is being read: its length, its bytes, and the number of
  // bytes read of each.
  uint32_t length_ = 0;
  size_t length_got_ = 0;
  std::unique_ptr<char[]> message_;  // message_size_ bytes or more
  size_t message_size_ = 0;
  size_t message_got_ = 0;
  bool idle_ = false;  // the last Sleep was in vain
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> closed_{false};
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_MESSAGE_RING_H_
