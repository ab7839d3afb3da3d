// SPDX-License-Identifier: Apache-2.0
//
// Reads the journal of an executor. Its bytes are hostile input, because a
// client's kernel may have taken the executor over. They are copied first, and
// then checked. `memory` is the journal's memfd, and is borrowed.
#ifndef HOLDFAST_SERVER_JOURNAL_JOURNAL_READER_H_
#define HOLDFAST_SERVER_JOURNAL_JOURNAL_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/arena.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::journal {

// The most records of a journal.
inline constexpr size_t kMaxRecords = size_t{1} << 21;

// The progress of the session's commands; see Header in layout.h.
struct Progress {
  uint64_t received = 0;
  uint64_t completed = 0;
  uint64_t begun = 0;
  uint64_t processed = 0;
  // "42: launch saxpy on stream 0x0100000100000003", oldest first, at most 16.
  std::vector<std::string> last_commands;
  // The kernel that may have been running, if there is only one.
  std::string kernel;
};

// Reads the progress. DATA_LOSS: `memory` is not a journal, or its counts are
// inconsistent.
absl::StatusOr<Progress> ReadProgress(int memory);

// Returns Header::looked of a journal, which may be in use. Fails as
// ReadProgress.
absl::StatusOr<uint64_t> ReadLooked(int memory);

// Returns the serialised records of the valid half, for ParseRecords. Fails as
// ReadProgress.
absl::StatusOr<std::string> ReadRecords(int memory);

struct ParsedRecords {
  // Owns the records. A separate allocation for each record would take longer
  // than the parsing.
  std::unique_ptr<google::protobuf::Arena> arena;
  std::vector<const internal::JournalRecord*> records;
  // The encoded records with their lengths before them. They point into the
  // argument of ParseRecords.
  std::vector<absl::string_view> frames;
};
// Parses the bytes of ReadRecords. DATA_LOSS: a record is malformed, or there
// are more than kMaxRecords.
absl::StatusOr<ParsedRecords> ParseRecords(absl::string_view bytes);

}  // namespace holdfast::journal

#endif  // HOLDFAST_SERVER_JOURNAL_JOURNAL_READER_H_
