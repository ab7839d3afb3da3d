// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_JOURNAL_JOURNAL_WRITER_H_
#define HOLDFAST_SERVER_JOURNAL_JOURNAL_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/memfd.h"
#include "core/base/raise_to.h"
#include "holdfast/internal/executor.pb.h"
#include "server/journal/layout.h"

namespace holdfast::journal {

// The executor's end of its session's journal. A record that Append has
// published is in the journal whenever the process ends. Only one thread at a
// time may use it, except for SetReceived, SetCompleted and SetLooked, which
// any thread may call.
class JournalWriter {
 public:
  // Maps `memory`, which is borrowed and may be closed after the call, and
  // makes an empty journal in it. INVALID_ARGUMENT: it is not a memfd of the
  // fixed size kJournalBytes.
  static absl::StatusOr<std::unique_ptr<JournalWriter>> Map(int memory);
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  // Publishes a record. From time to time, drops records that have no effect
  // any more. Returns false if there is no room for the record; part of the
  // room is reserved for records that end something. If `command` is not empty,
  // it is the record's command in encoded form, and `record` must have no
  // command.
  bool Append(const internal::JournalRecord& record,
              absl::string_view command = {});

  // Removes the record that made `handle`, and returns true. Returns false, and
  // does nothing, if other records follow it, or if it made other handles, too.
  // So a resource that is freed right after its creation leaves no record.
  bool Retract(uint64_t handle);

  // Set the counters of the header, which change with every command. Each call
  // takes a few plain stores.
  void SetReceived(uint64_t sequence) { Store(header().received, sequence); }
  // Waits may end in any order, on several threads: a smaller number has no
  // effect.
  void SetCompleted(uint64_t sequence) {
    RaiseTo(sequence, header().completed);
  }
  // Notes a command that is about to be carried out. The arguments are the
  // fields of LastCommand.
  void Begin(uint64_t sequence, uint32_t field, uint64_t stream,
             absl::string_view name);
  void SetProcessed(uint64_t sequence) { Store(header().processed, sequence); }
  void SetLooked(uint64_t nanoseconds) { Store(header().looked, nanoseconds); }

  // Notes that an earlier executor has carried out the commands up to
  // `sequence`. Called before the first command.
  void Resume(uint64_t sequence) {
    Store(header().begun, sequence);
    Store(header().processed, sequence);
  }

  // The bytes of the records.
  size_t size() const { return length_; }

 private:
  explicit JournalWriter(FileMapping mapping) : mapping_(std::move(mapping)) {}

  Header& header() const { return *static_cast<Header*>(mapping_.data()); }
  char* Half(bool second) const {
    return static_cast<char*>(mapping_.data()) + kHeaderBytes +
           (second ? kHalfBytes : 0);
  }
  static void Store(std::atomic<uint64_t>& counter, uint64_t value) {
    counter.store(value, std::memory_order_relaxed);
  }
  // One of the last records, if each of these has made exactly one resource;
  // see made_.
  struct Made {
    uint64_t handle = 0;
    size_t begin = 0;  // of the record, in its half
  };
  static constexpr size_t kMaxMade = 256;

  // Updates made_ after a record was written at `begin`.
  void NoteMade(const internal::JournalRecord& record, size_t begin);
  // Makes the half valid up to this length, with one store. The caller has
  // written the bytes before, so that the journal is valid whenever the process
  // dies.
  void Publish(bool second, size_t length);
  // Copies the live records to the other half.
  void Compact();

  const FileMapping mapping_;
  bool second_ = false;      // the valid half is the second
  size_t length_ = 0;        // the bytes of the records in the valid half
  size_t compact_at_ = 0;    // Append compacts first at this length
  bool may_shrink_ = false;  // something has ended since the last compaction
  // The last records, oldest first, back to a record that did not make exactly
  // one resource.
  std::vector<Made> made_;
};

}  // namespace holdfast::journal

#endif  // HOLDFAST_SERVER_JOURNAL_JOURNAL_WRITER_H_
