// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_JOURNAL_SESSION_JOURNAL_H_
#define HOLDFAST_SERVER_EXECUTOR_JOURNAL_SESSION_JOURNAL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cuda.h"
#include "google/protobuf/arena.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/journal/update_sets.h"
#include "server/executor/resources/resources.h"
#include "server/journal/journal_writer.h"

namespace holdfast::executor {

// Records what a successor of this process needs to make the session's
// resources again: the commands that made, changed and ended them, and the
// places of their memory. Any other command costs a few stores. Belongs to the
// submission thread, except for SetReceived, SetCompleted and SetLooked.
class SessionJournal {
 public:
  // Commands up to `received` were received by earlier executors.
  SessionJournal(std::unique_ptr<journal::JournalWriter> writer,
                 uint64_t received);

  // Commands up to `sequence` have arrived, or have taken effect. Thread-safe.
  void SetReceived(uint64_t sequence) { writer_->SetReceived(sequence); }
  void SetCompleted(uint64_t sequence);
  // See Header::looked. Thread-safe.
  void SetLooked(uint64_t nanoseconds) { writer_->SetLooked(nanoseconds); }

  // Called before and after each command. `encoded` has the fields, as
  // received, of a command that makes or updates a graph; if it is empty, they
  // are encoded again.
  void Begin(uint64_t sequence, const v1::Command& command,
             Resources& resources);
  void End(uint64_t sequence, const v1::Command& command,
           const absl::Status& status, Resources& resources,
           absl::string_view encoded = {});

  // The part of End that makes a record: the command was carried out.
  void Note(const v1::Command& command, const absl::Status& status,
            Resources& resources, absl::string_view encoded = {});
  // Records that the handle is in error, with the reason. If `ends_with` is not
  // 0, the handle also ends when the handle `ends_with` does.
  void NoteLost(uint64_t handle, uint64_t ends_with,
                const absl::Status& reason);

  void DeviceOpened(uint32_t device, CUdeviceptr base);
  void ArenaRegistered(const internal::HostMemoryCreated& arena);

 private:
  // `encoded`: see JournalWriter::Append.
  void Append(const internal::JournalRecord& record,
              absl::string_view encoded = {});
  void End(uint64_t handle);
  void AppendFailure(const internal::JournalRecord& record,
                     const absl::Status& status, const Resources& resources);

  const std::unique_ptr<journal::JournalWriter> writer_;
  UpdateSets update_sets_;
  // Memory for the records of one command.
  const std::unique_ptr<char[]> block_;
  google::protobuf::Arena arena_;
  std::atomic<uint64_t> completed_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_JOURNAL_SESSION_JOURNAL_H_
