// SPDX-License-Identifier: Apache-2.0
//
// The session of one executor process, as the supervisor knows it: its owner,
// its devices and its holdings. The executor reports changes of the holdings,
// and requests more memory. Reports and requests are hostile input.
//
// The holdings outlive the process. Begin makes them, or Inherit takes them
// over from an earlier executor; they stay here until Take.
//
// Threads: the thread that reads the process's messages reports changes and
// asks questions; the session's threads begin, pause and end the session.
//
// Locks: mutex_ guards everything. It is held while Begin sends the holdings on
// the channel, so that they do not change meanwhile; it is not held while a
// thread waits for an answer of the process.
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
  // The parts of `services` must outlive this object.
  explicit ServedSession(const SessionHoldings::Services& services)
      : services_(services) {}

  // See Executor::Inherit and TakeHoldings.
  void Inherit(std::unique_ptr<SessionHoldings> holdings);
  std::unique_ptr<SessionHoldings> Take();

  // Begins the session: opens holdings for it, or prepares inherited holdings
  // for a successor; then sends the holdings on `channel`. Returns true if the
  // holdings were inherited, so that the executor restores the session. Called
  // once.
  absl::StatusOr<bool> Begin(const SessionStart& start, Channel& channel);
  // Ends the restoration. If the executor has lost a resource of a suspended
  // session (`whole` is false), the holdings stay suspended, because another
  // executor may still restore all of it.
  void EndRestore(bool whole);

  // See SessionHoldings. They have no effect if there is no session.
  void NoteIdle();
  void NoteBusy();
  // Returns OK if the session may be parked or suspended. FAILED_PRECONDITION:
  // there is no session; or its memory does not stay on its devices
  // (`memory_stays` is false), and other sessions share it.
  absl::Status CheckMayQuiesce(bool memory_stays) const;
  // See HeldSuspension. FAILED_PRECONDITION: there is no session.
  absl::StatusOr<HeldSuspension::Room> PrepareSuspension(
      const std::string& path);
  void CancelSuspension();

  // Returns the owner of stored code (CodeCache); empty: no session has begun.
  std::string owner() const;
  std::vector<uint32_t> devices() const;
  // Returns a duplicate of the journal's descriptor; invalid if there is no
  // session.
  UniqueFd DuplicateJournal() const;
  // Returns the number of the last received command. UNAVAILABLE: there is no
  // session. DATA_LOSS: the journal is malformed.
  absl::StatusOr<uint64_t> ReceivedThrough() const;
  // Sets the figures of `usage` that the supervisor knows itself, in place of
  // the executor's.
  void Report(internal::Usage* usage) const;

  // Apply the executor's reports to the holdings. An error means that no
  // correct executor sends the report. INVALID_ARGUMENT: it names a device that
  // is not the session's, or does not exist. Have no effect if there is no
  // session.
  absl::Status HoldChunk(const internal::ChunkCreated& created, UniqueFd fd);
  absl::Status Note(const internal::FromExecutor& report, UniqueFd fd);
  // Adds the variables of the session's modules to the holdings.
  // RESOURCE_EXHAUSTED: no host memory is left; the holdings then have no
  // variables.
  absl::Status HoldVariables(UniqueFd variables);

  // Answers a Reserve question. INVALID_ARGUMENT: no correct executor sends it.
  // Sets `granted` to the other errors, for the answer to the executor.
  absl::Status Reserve(const internal::Reserve& reserve, absl::Status* granted);
  // Returns an object that the session holds; null: there is no such object.
  std::shared_ptr<const StoredObject> FindObject(const std::string& sha256);
  // See SessionImports and SessionMemory. Ask puts its error into the answer.
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
