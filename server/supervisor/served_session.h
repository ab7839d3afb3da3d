// SPDX-License-Identifier: Apache-2.0
//
// The session of one executor process, as the supervisor knows it: who owns it,
// on which devices it is, and its holdings. The executor reports changes of the
// holdings and asks for more of them. Both are hostile input.
//
// The holdings outlive the process. They come with Begin, or from an earlier
// executor with Inherit, and stay until Take.
//
// Threads: any thread. The process's reading thread brings the reports and the
// questions; the session's threads begin, pause and end the session.
//
// Locks: one, which guards everything. It is held while Begin sends the
// holdings on the channel, so that they do not change meanwhile; it is not held
// while an answer is awaited.
#ifndef HOLDFAST_SERVER_SUPERVISOR_SERVED_SESSION_H_
#define HOLDFAST_SERVER_SUPERVISOR_SERVED_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "server/channel/channel.h"
#include "server/holdings/held_suspension.h"
#include "server/holdings/session_holdings.h"
#include "server/holdings/session_memory.h"
#include "server/objects/object_store.h"
#include "server/supervisor/executor.h"

namespace holdfast::supervisor {

// Thread-safe.
class ServedSession {
 public:
  // The parts of the supervisor outlive this object.
  explicit ServedSession(const SessionHoldings::Services& services)
      : services_(services) {}

  // See Executor::Inherit and TakeHoldings.
  void Inherit(std::unique_ptr<SessionHoldings> holdings);
  std::unique_ptr<SessionHoldings> Take();

  // Begins the session: opens holdings for it, or prepares inherited holdings
  // for a successor; then sends them. Returns true if the holdings were
  // inherited, so that the executor restores the session. Called once.
  absl::StatusOr<bool> Begin(const SessionStart& start, Channel& channel);
  // Ends the restoration. If the executor has lost a resource of a suspended
  // session (`whole` is false), the holdings stay as they are: another executor
  // may still bring back the whole.
  void EndRestore(bool whole);

  // See SessionHoldings. They do nothing if there is no session.
  void NoteIdle();
  void NoteBusy();
  // FAILED_PRECONDITION: there is no session; or its memory does not stay on
  // its devices, and other sessions share it.
  absl::Status CheckMayQuiesce(bool memory_stays) const;
  // See HeldSuspension. FAILED_PRECONDITION: there is no session.
  absl::StatusOr<HeldSuspension::Room> PrepareSuspension(
      const std::string& path);
  void CancelSuspension();

  // The tenant's name for stored code; empty: no session has begun.
  std::string owner() const;
  std::vector<uint32_t> devices() const;
  // Returns a duplicate of the journal's descriptor; invalid if there is none.
  UniqueFd DuplicateJournal() const;
  // Returns the number of the last received command. UNAVAILABLE: there is no
  // session. DATA_LOSS: the journal is malformed.
  absl::StatusOr<uint64_t> ReceivedThrough() const;
  // Sets what is known here, whatever the executor says.
  void Report(internal::Usage* usage) const;

  // The executor's reports. Errors mean that no correct executor sends the
  // report; INVALID_ARGUMENT: it names a device that is not the session's, or
  // does not exist. Reports are ignored if there is no session.
  absl::Status HoldChunk(const internal::ChunkCreated& created, UniqueFd fd);
  absl::Status Note(const internal::FromExecutor& report, UniqueFd fd);
  // RESOURCE_EXHAUSTED: no host memory is left; the session has no variables.
  absl::Status HoldVariables(UniqueFd variables);

  // The executor's questions. INVALID_ARGUMENT: as above. Reserve returns the
  // other errors in `granted`, which the executor gets.
  absl::Status Reserve(const internal::Reserve& reserve, absl::Status* granted);
  // Null: the session has no such object.
  std::shared_ptr<const StoredObject> FindObject(const std::string& sha256);
  // See SessionImports and SessionMemory. The error of Ask is in the answer.
  std::shared_ptr<const collections::OpenVersion> OpenFor(
      const internal::SharingRequest& request) const;
  SessionMemory::Answer Ask(const internal::SharingRequest& request, int fd);

 private:
  absl::Status CheckOwn(uint32_t device) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SessionHoldings::Services services_;
  mutable absl::Mutex mutex_;
  // Null before there is a session, and after Take.
  std::unique_ptr<SessionHoldings> holdings_ ABSL_GUARDED_BY(mutex_);
  std::string owner_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> devices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SERVED_SESSION_H_
