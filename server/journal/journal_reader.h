// SPDX-License-Identifier: Apache-2.0
//
// Reads a journal whose writer is gone. Its bytes are hostile input: a client's
// kernel may have taken the executor over. They are copied before they are
// looked at, and nothing in them is believed.
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

// Records that a journal may have.
inline constexpr size_t kMaxRecords = size_t{1} << 21;

// How far the session's commands had come: see Header.
struct Progress {
  uint64_t received = 0;
  uint64_t completed = 0;
  uint64_t begun = 0;
  uint64_t processed = 0;
  // "42: launch saxpy on stream 0x0100000100000003", oldest first, at most 16.
  std::vector<std::string> last_commands;
  // The one kernel that may have been running, if there is one only.
  std::string kernel;
};

// DATA_LOSS: it is no journal, or its counts cannot be.
absl::StatusOr<Progress> ReadProgress(int memory);

// Header::looked of a journal that is being written. As above.
absl::StatusOr<uint64_t> ReadLooked(int memory);

// The records that count, serialised one behind the other. As above.
absl::StatusOr<std::string> ReadRecords(int memory);

struct ParsedRecords {
  // Owns the records: an allocation for each would take longer than the rest.
  std::unique_ptr<google::protobuf::Arena> arena;
  std::vector<const internal::JournalRecord*> records;
  // Each with its length before it; in the bytes that were parsed.
  std::vector<absl::string_view> frames;
};
// DATA_LOSS: something there is no record, or there are too many.
absl::StatusOr<ParsedRecords> ParseRecords(absl::string_view bytes);

}  // namespace holdfast::journal

#endif  // HOLDFAST_SERVER_JOURNAL_JOURNAL_READER_H_
