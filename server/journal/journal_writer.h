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

// The executor's end of its session's journal. Whatever ends the process, and
// whenever, the journal is what it was after the last call of Append that had
// published its record. One thread; the counters may be set by any.
class JournalWriter {
 public:
  // `memory` is zeros, or an earlier journal, which is forgotten.
  // INVALID_ARGUMENT: it is no memory of kJournalBytes.
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

  // Plain stores, for what happens with every command.
  void SetReceived(uint64_t sequence) { Store(header().received, sequence); }
  void SetCompleted(uint64_t sequence) { Store(header().completed, sequence); }
  // The command is about to be carried out; its fields are as in LastCommand.
  void Begin(uint64_t sequence, uint32_t field, uint64_t stream,
             absl::string_view name);
  void SetProcessed(uint64_t sequence) { Store(header().processed, sequence); }
  void SetLooked(uint64_t nanoseconds) { Store(header().looked, nanoseconds); }

  // Everything up to `sequence` was done by an earlier writer. First.
  void Resume(uint64_t sequence) {
    Store(header().begun, sequence);
    Store(header().processed, sequence);
  }

  // Bytes of the records.
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
  // The last records, oldest first, if each made one resource and no more.
  struct Made {
    uint64_t handle = 0;
    size_t begin = 0;  // of the record, in its half
  };
  static constexpr size_t kMaxMade = 256;

  // Keeps made_ up to date with a record that was written at `begin`.
  void NoteMade(const internal::JournalRecord& record, size_t begin);
  // The one store after which the half counts up to this length. Bytes come
  // first, so that the journal is valid whenever the process dies.
  void Publish(bool second, size_t length);
  // Copies the live records to the other half.
  void Compact();

  const FileMapping mapping_;
  bool second_ = false;      // the half that counts
  size_t length_ = 0;        // its records' bytes
  size_t compact_at_ = 0;    // bytes from which on Append compacts first
  bool may_shrink_ = false;  // something has ended since the last compaction
  std::vector<Made> made_;
};

}  // namespace holdfast::journal

#endif  // HOLDFAST_SERVER_JOURNAL_JOURNAL_WRITER_H_
