// SPDX-License-Identifier: Apache-2.0
//
// Both counters only grow; their difference is what lies in the ring, and a
// count modulo the capacity is a place. Each end publishes its counter after it
// is done with the bytes: the writer's store says that they are there, the
// reader's that they may be overwritten.
//
//         read                written
//           |                    |
// ring  ----[ unread, at most capacity ]----
//
// A hostile end can put any number into its counter. So a difference over the
// capacity ends the ring with DATA_LOSS, the counter of the other end is read
// once for each decision, and no length is believed before it is in memory of
// our own.
#include "core/base/message_ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/spin.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// A writer that nobody wakes looks for room by itself.
constexpr absl::Duration kLookForRoom = absl::Seconds(10);

// Between processes, so without FUTEX_PRIVATE_FLAG.
void Sleep(std::atomic<uint32_t>& word, absl::Duration limit) {
  const timespec time = absl::ToTimespec(limit);
  syscall(SYS_futex, &word, FUTEX_WAIT, 1, &time, nullptr, 0);
}

// After a change of what the sleeper waits for. The order is that of the
// sleeper, who first says that it sleeps and then looks once more: one of the
// two sees what the other did.
void Wake(std::atomic<uint32_t>& word) {
  if (word.load(std::memory_order_seq_cst) == 0) return;
  word.store(0, std::memory_order_seq_cst);
  syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

// Sleeps on `word`; `ready` may be false afterwards.
template <typename Ready>
void SleepUnless(Ready ready, std::atomic<uint32_t>& word,
                 absl::Duration limit) {
  word.store(1, std::memory_order_seq_cst);
  if (!ready()) Sleep(word, limit);
  word.store(0, std::memory_order_seq_cst);
}

// How many bytes follow one another in memory from the `count`th on.
size_t Contiguous(const RingMemory& memory, uint64_t count) {
  return memory.capacity - count % memory.capacity;
}

absl::Status Impossible(const char* what, uint64_t bytes, size_t capacity) {
  return absl::DataLossError(absl::StrCat("the other end of a ring of ",
                                          capacity, " bytes says that ", bytes,
                                          " of them ", what));
}

// A message's length, as it lies before the message in the ring.
using Prefix = uint32_t;

absl::string_view View(const Prefix& prefix) {
  return {reinterpret_cast<const char*>(&prefix), sizeof prefix};
}

absl::StatusOr<Prefix> PrefixOf(absl::Span<const absl::string_view> parts) {
  size_t size = 0;
  for (const absl::string_view part : parts) size += part.size();
  const auto length = static_cast<Prefix>(size);
  if (length != size) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", size, " bytes"));
  }
  return length;
}

}  // namespace

uint64_t RingWriter::Used() const {
  return written_ - memory_.counts->read.load(std::memory_order_seq_cst);
}

absl::StatusOr<size_t> RingWriter::Room() const {
  if (closed_) return absl::CancelledError("the ring was closed");
  const uint64_t used = Used();
  if (used > memory_.capacity) {
    return Impossible("are unread", used, memory_.capacity);
  }
  return memory_.capacity - used;
}

// Full: publishes what is written, since the reader can only make room for more
// by reading that.
absl::StatusOr<size_t> RingWriter::AwaitRoom() {
  for (;;) {
    HOLDFAST_ASSIGN_OR_RETURN(const size_t room, Room());
    if (room > 0) return room;
    Publish();
    const auto ready = [this] { return Used() != memory_.capacity || closed_; };
    if (SpinThenSleep(ready)) continue;
    SleepUnless(ready, memory_.counts->writer_sleeps, kLookForRoom);
  }
}

void RingWriter::Copy(absl::string_view bytes) {
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), Contiguous(memory_, written_));
    std::memcpy(memory_.bytes + written_ % memory_.capacity, bytes.data(),
                size);
    written_ += size;
    bytes.remove_prefix(size);
  }
}

// A message larger than the ring goes through in pieces, as the reader makes
// room.
absl::Status RingWriter::Put(absl::string_view bytes) {
  while (!bytes.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(const size_t room, AwaitRoom());
    const absl::string_view part = bytes.substr(0, room);
    Copy(part);
    bytes.remove_prefix(part.size());
  }
  return absl::OkStatus();
}

void RingWriter::Publish() {
  memory_.counts->written.store(written_, std::memory_order_seq_cst);
  Wake(memory_.counts->reader_sleeps);
}

absl::Status RingWriter::Write(absl::Span<const absl::string_view> parts) {
  HOLDFAST_ASSIGN_OR_RETURN(const Prefix prefix, PrefixOf(parts));
  HOLDFAST_RETURN_IF_ERROR(Put(View(prefix)));
  for (const absl::string_view part : parts)
    HOLDFAST_RETURN_IF_ERROR(Put(part));
  Publish();
  return absl::OkStatus();
}

absl::StatusOr<bool> RingWriter::TryWrite(
    absl::Span<const absl::string_view> parts) {
  HOLDFAST_ASSIGN_OR_RETURN(const Prefix prefix, PrefixOf(parts));
  HOLDFAST_ASSIGN_OR_RETURN(const size_t room, Room());
  if (room < sizeof prefix || room - sizeof prefix < prefix) return false;
  Copy(View(prefix));
  for (const absl::string_view part : parts) Copy(part);
  Publish();
  return true;
}

absl::StatusOr<char*> RingWriter::Reserve(size_t size) const {
  HOLDFAST_ASSIGN_OR_RETURN(const size_t room, Room());
  const uint64_t begin = written_ + sizeof(Prefix);
  if (room < sizeof(Prefix) || room - sizeof(Prefix) < size ||
      Contiguous(memory_, begin) < size) {
    return nullptr;
  }
  return memory_.bytes + begin % memory_.capacity;
}

void RingWriter::Commit(size_t size) {
  Copy(View(static_cast<Prefix>(size)));
  written_ += size;
  Publish();
}

void RingWriter::Close() {
  closed_ = true;
  Wake(memory_.counts->writer_sleeps);
}

// Reads as the reader would have; the counter is put back at the end.
std::vector<std::string> RingWriter::Unread(size_t max_message_bytes) const {
  const uint64_t read = memory_.counts->read;
  RingReader reader(memory_, max_message_bytes, read);
  std::vector<std::string> messages;
  for (auto message = reader.Read(); message.ok() && message->has_value();
       message = reader.Read()) {
    messages.emplace_back(**message);
  }
  memory_.counts->read = read;  // Another call finds the same.
  return messages;
}

void RingReader::Await(absl::Duration limit) {
  // After a wait in vain another one is likely to be: it costs nothing.
  if (idle_ || !SpinThenSleep([this] { return Due(); })) return Sleep(limit);
  interrupted_ = false;
}

void RingReader::Sleep(absl::Duration limit) {
  const auto due = [this] { return Due(); };
  SleepUnless(due, memory_.counts->reader_sleeps, limit);
  idle_ = !due();
  interrupted_ = false;
}

// In two pieces where the ring's end lies in between.
void RingReader::Take(char* bytes, size_t size, uint64_t* available) {
  for (size_t got = 0; got < size;) {
    const uint64_t read = read_.load(std::memory_order_relaxed);
    const size_t part = std::min(size - got, Contiguous(memory_, read));
    std::memcpy(bytes + got, memory_.bytes + read % memory_.capacity, part);
    read_.store(read + part, std::memory_order_relaxed);
    *available -= part;
    got += part;
  }
}

void RingReader::Publish() {
  memory_.counts->read.store(read_.load(std::memory_order_relaxed),
                             std::memory_order_seq_cst);
  Wake(memory_.counts->writer_sleeps);
}

// Takes what is there, be it a part of the length or of the message, and gives
// its room back at once: how far the message has come is kept in length_got_
// and message_got_ until the rest is there. Memory grows to the length that was
// announced, which the limit bounds.
absl::StatusOr<std::optional<absl::string_view>> RingReader::Read() {
  uint64_t available = memory_.counts->written.load(std::memory_order_acquire) -
                       read_.load(std::memory_order_relaxed);
  if (available > memory_.capacity) {
    return Impossible("were written", available, memory_.capacity);
  }
  if (available == 0) return std::nullopt;  // The writer need not hear of it.
  const size_t of_length =
      std::min<uint64_t>(available, sizeof length_ - length_got_);
  Take(reinterpret_cast<char*>(&length_) + length_got_, of_length, &available);
  length_got_ += of_length;
  if (length_got_ == sizeof length_) {
    if (length_ > max_message_bytes_) {
      return absl::InvalidArgumentError(absl::StrCat("a message of ", length_,
                                                     " bytes, the limit is ",
                                                     max_message_bytes_));
    }
    if (message_size_ < length_) {
      message_ = std::make_unique_for_overwrite<char[]>(length_);
      message_size_ = length_;
    }
    const size_t of_message =
        std::min<uint64_t>(available, length_ - message_got_);
    Take(message_.get() + message_got_, of_message, &available);
    message_got_ += of_message;
  }
  Publish();
  if (length_got_ < sizeof length_ || message_got_ < length_) {
    return std::nullopt;
  }
  length_got_ = message_got_ = 0;
  return absl::string_view(message_.get(), length_);
}

std::unique_ptr<char[]> RingReader::Release() {
  message_size_ = 0;
  return std::move(message_);
}

void RingReader::Interrupt() {
  interrupted_ = true;
  Wake(memory_.counts->reader_sleeps);
}

void RingReader::Close() {
  closed_ = true;
  Wake(memory_.counts->reader_sleeps);
}

}  // namespace holdfast
