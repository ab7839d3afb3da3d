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
#include "holdfast/internal/executor.pb.h"
#include "server/journal/layout.h"

namespace holdfast::journal {

// The executor's end of its session's journal. A record that Append has
// published is in the journal whenever the process ends. Used by one thread,
// except for the counters, which any thread may set.
class JournalWriter {
 public:
  // `memory` has zeros, or an earlier journal, which is cleared.
  // INVALID_ARGUMENT: it does not have kJournalBytes.
  static absl::StatusOr<std::unique_ptr<JournalWriter>> Map(int memory);
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  // Publishes a record. Drops records without effect when there are many.
  // Returns false if there is no room for it; part of the room is kept for
  // records that end something. `command`, if not empty, has the fields of the
  // record's command, which the record itself then lacks.
  bool Append(const internal::JournalRecord& record,
              absl::string_view command = {});

  // Removes the record that made `handle`, and returns true; false if later
  // records follow it, or it made other handles too. So a resource that is
  // freed right after its creation, as most memory is, leaves no record.
  bool Retract(uint64_t handle);

  // Counters that change with every command. Each call is a plain store.
  void SetReceived(uint64_t sequence) { Store(header().received, sequence); }
  void SetCompleted(uint64_t sequence) { Store(header().completed, sequence); }
  // Notes a command that is about to be carried out, as in LastCommand.
  void Begin(uint64_t sequence, uint32_t field, uint64_t stream,
             absl::string_view name);
  void SetProcessed(uint64_t sequence) { Store(header().processed, sequence); }
  void SetLooked(uint64_t nanoseconds) { Store(header().looked, nanoseconds); }

  // Notes that an earlier writer has done the commands up to `sequence`. Called
  // first.
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
  // The last records in a row that each made exactly one resource, oldest
  // first.
  struct Made {
    uint64_t handle = 0;
    size_t begin = 0;  // of the record, in its half
  };
  static constexpr size_t kMaxMade = 256;

  // Updates made_ after a record was written at `begin`.
  void NoteMade(const internal::JournalRecord& record, size_t begin);
  // Makes the half valid up to this length, with one store. The bytes are
  // written before that, so that the journal is valid whenever the process
  // dies.
  void Publish(bool second, size_t length);
  // Copies the live records to the other half.
  void Compact();

  const FileMapping mapping_;
  bool second_ = false;      // the valid half
  size_t length_ = 0;        // its records' bytes
  size_t compact_at_ = 0;    // Append compacts first at this length
  bool may_shrink_ = false;  // something has ended since the last compaction
  std::vector<Made> made_;
};

}  // namespace holdfast::journal

#endif  // HOLDFAST_SERVER_JOURNAL_JOURNAL_WRITER_H_
