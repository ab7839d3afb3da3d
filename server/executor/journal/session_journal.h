// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_JOURNAL_SESSION_JOURNAL_H_
#define HOLDFAST_SERVER_EXECUTOR_JOURNAL_SESSION_JOURNAL_H_

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

// Records the commands that have made, changed or ended resources, and the
// places of their memory. A successor of this process makes the session's
// resources again from these records. Any other command costs a few stores. If
// a record does not fit into the journal, the resource is recorded as lost.
// Belongs to the submission thread, except for SetReceived, SetCompleted and
// SetLooked.
class SessionJournal {
 public:
  // Takes the writer. Earlier executors have received the commands up to the
  // number `received`.
  SessionJournal(std::unique_ptr<journal::JournalWriter> writer,
                 uint64_t received);

  // Note that the commands up to `sequence` have arrived, or that they have
  // taken effect on the devices. Thread-safe.
  void SetReceived(uint64_t sequence) { writer_->SetReceived(sequence); }
  void SetCompleted(uint64_t sequence) { writer_->SetCompleted(sequence); }
  // Sets journal::Header::looked. Thread-safe.
  void SetLooked(uint64_t nanoseconds) { writer_->SetLooked(nanoseconds); }

  // Must be called before and after each command. `status` is the command's
  // result. `encoded` is the encoded command, as received, if it makes or
  // updates a graph; if `encoded` is empty, the command is encoded again.
  void Begin(uint64_t sequence, const v1::Command& command,
             Resources& resources);
  void End(uint64_t sequence, const v1::Command& command,
           const absl::Status& status, Resources& resources,
           absl::string_view encoded = {});

  // Makes the records of a command that was carried out, as End does.
  void Note(const v1::Command& command, const absl::Status& status,
            Resources& resources, absl::string_view encoded = {});
  // Records that the resource of the handle has ended and that the handle is in
  // error, with the reason. If `ends_with` is not 0, the handle also ends when
  // the handle `ends_with` ends.
  void NoteLost(uint64_t handle, uint64_t ends_with,
                const absl::Status& reason);

  // Records the lowest address for the chunks of a device.
  void DeviceOpened(uint32_t device, CUdeviceptr base);
  // Records an arena that the client has registered.
  void ArenaRegistered(const internal::HostMemoryCreated& arena);

 private:
  // Appends a record; if it does not fit, a record that its resource is lost.
  // JournalWriter::Append describes `encoded`.
  void Append(const internal::JournalRecord& record,
              absl::string_view encoded = {});
  // Appends a record that the handle's resource has ended.
  void End(uint64_t handle);
  // Appends the effect of a command that has failed: handles in error, or a
  // resource that has ended.
  void AppendFailure(const internal::JournalRecord& record,
                     const absl::Status& status, const Resources& resources);

  const std::unique_ptr<journal::JournalWriter> writer_;
  UpdateSets update_sets_;
  // Memory for the records of one command.
  const std::unique_ptr<char[]> block_;
  google::protobuf::Arena arena_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_JOURNAL_SESSION_JOURNAL_H_
