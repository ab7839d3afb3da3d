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

  // Blocks while the reader does not keep up. One thread at a time. CANCELLED:
  // the ring is closed. DATA_LOSS: the reader claims to have read bytes that
  // were not written.
  absl::Status Write(absl::string_view message) { return Write({&message, 1}); }
  // The same for a message in parts.
  absl::Status Write(absl::Span<const absl::string_view> parts);

  // Write, if all of the message fits in now. Never blocks, whatever the reader
  // does to its counter meanwhile. Returns false, and writes nothing, if there
  // is no room. One thread at a time. Fails as Write.
  absl::StatusOr<bool> TryWrite(absl::string_view message) {
    return TryWrite({&message, 1});
  }
  absl::StatusOr<bool> TryWrite(absl::Span<const absl::string_view> parts);

  // Where a message of `size` bytes may be written in place, for Commit to
  // send; nullptr: there is no room for it now, or the ring's end lies in it.
  // Nothing else may be written in between. The reader can change what is
  // there. Never blocks. Fails as Write.
  absl::StatusOr<char*> Reserve(size_t size) const;
  // Sends a message of `size` bytes. REQUIRES: Reserve has given a place for
  // it.
  void Commit(size_t size);

  // Ends a Write that waits, and all others. Any thread.
  void Close();

  // The messages that the reader has not taken, of at most so many bytes each.
  // REQUIRES: there is no reader any more, and closed.
  std::vector<std::string> Unread(size_t max_message_bytes) const;

 private:
  // Copies, and publishes only when it has to wait.
  absl::Status Put(absl::string_view bytes);
  // Copies `bytes` behind those that were written.
  // REQUIRES: the ring has room for them.
  void Copy(absl::string_view bytes);
  // Blocks until there is room. Returns how many bytes fit in.
  absl::StatusOr<size_t> AwaitRoom();
  // How many bytes fit in. Reads the reader's counter once. Fails as Write.
  absl::StatusOr<size_t> Room() const;
  // Bytes in the ring, if the reader is to be believed.
  uint64_t Used() const;
  void Publish();

  const RingMemory memory_;
  uint64_t written_ = 0;
  std::atomic<bool> closed_{false};
};

// The reading end of an empty ring, or of one from which `read` bytes were
// taken.
class RingReader {
 public:
  RingReader(RingMemory memory, size_t max_message_bytes, uint64_t read = 0)
      : memory_(memory), max_message_bytes_(max_message_bytes), read_(read) {}

  // Is there anything that was not read? Any thread, at the cost of a load.
  bool Ready() const {
    return memory_.counts->written.load(std::memory_order_acquire) !=
           read_.load(std::memory_order_relaxed);
  }

  // Waits until Ready, closed or interrupted, for so long at most: looks for a
  // moment before it sleeps, unless the last wait was in vain. One thread at a
  // time, and while others read.
  void Await(absl::Duration limit);
  // As Await, without looking first: the writer has to wake this thread.
  void Sleep(absl::Duration limit);

  // The next message, which stays until the next call; nullopt: it is not all
  // there yet. Does not wait. One thread at a time.
  // DATA_LOSS: the writer claims to have written more than fits in.
  // INVALID_ARGUMENT: the message is too large.
  absl::StatusOr<std::optional<absl::string_view>> Read();

  // The memory of the message that Read has just returned, which is the
  // caller's from now on.
  std::unique_ptr<char[]> Release();

  // Has a part of a message been taken out, whose rest is to come? As Read.
  bool InMessage() const { return length_got_ != 0; }

  // Ends this Await, or else the next one: the thread has something else to
  // look at. Thread-safe.
  void Interrupt();

  // Ends this Await and all later ones. Messages that are there may still be
  // read. Thread-safe.
  void Close();
  bool closed() const { return closed_; }

 private:
  // Is there something for Await to end for?
  bool Due() const { return Ready() || closed_ || interrupted_; }
  // Takes as many of `available` bytes as still fit into `size` after `got_`.
  void Take(char* bytes, size_t size, uint64_t* available);
  void Publish();

  const RingMemory memory_;
  const size_t max_message_bytes_;
  std::atomic<uint64_t> read_;
  // The message that is being read: its length, its bytes, and how much of each
  // has come.
  uint32_t length_ = 0;
  size_t length_got_ = 0;
  std::unique_ptr<char[]> message_;  // of so many bytes, or more
  size_t message_size_ = 0;
  size_t message_got_ = 0;
  bool idle_ = false;  // nothing came in the last Sleep
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> closed_{false};
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_MESSAGE_RING_H_
