// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "holdfast/internal/executor.pb.h"
#include "server/counters/execution_totals.h"
#include "server/tenants/tenant.h"

namespace holdfast {
class SessionHoldings;
}  // namespace holdfast

namespace holdfast::supervisor {

// An executor's assignment to its session; the descriptors are borrowed.
struct SessionStart {
  internal::Assign assign;
  int calls = -1;        // a socket that listens for rpcs
  int descriptors = -1;  // one that listens for clients' descriptors
  // The tenant that pays for the session.
  std::shared_ptr<Tenant> tenant;
  // Counts what the session's executors do; may be null.
  std::shared_ptr<ExecutionTotals> execution;
};

// A session's view of the process that holds its resources. Thread-safe. The
// destructor ends the process.
//
// An executor comes from an ExecutorPool, gets a session with Serve, and serves
// that one only. If its process dies, a second one takes its place and its
// holdings:
//
//   next->Inherit(dead->TakeHoldings());
//   next->Serve(start, deadline);   // restores, then waits
//   next->Resume(deadline);         // the client has acknowledged the fault
//
// Only ExecutorProcess implements it outside tests.
class Executor {
 public:
  virtual ~Executor() = default;

  // The process's id; it may have ended.
  virtual pid_t pid() const = 0;

  // The account of its session. Asks the process, and waits for the answer
  // until the deadline; after that returns the last report. Several calls at a
  // time share one question to the process.
  virtual internal::Usage AskUsage(absl::Time deadline) = 0;

  // The last command of its session that has arrived. DATA_LOSS: it has written
  // nonsense; UNAVAILABLE: it has no session.
  virtual absl::StatusOr<uint64_t> ReceivedThrough() = 0;

  // Gives it its session; returns when its socket accepts calls. Once. If it
  // succeeds another executor, all that one had is there again, but for what
  // the answer names, and it serves after Resume. If anything of a suspended
  // session is missing, its bytes are kept for a further executor.
  virtual absl::StatusOr<internal::Serving> Serve(const SessionStart& start,
                                                  absl::Time deadline) = 0;

  // After Serve: from now on the session has these limits. Does not wait. If
  // the process has ended, its successor is told.
  virtual void UpdateLimits(const internal::AccountLimits& limits) = 0;

  // The client has acknowledged the fault of the executor before this one.
  // Returns when calls are answered. DEADLINE_EXCEEDED: it did not serve in
  // time.
  virtual absl::Status Resume(absl::Time deadline) = 0;

  // Lets the session's work end until `deadline`, and has it take no more: the
  // daemon is about to make way for another, which will give the session
  // another executor. Nothing of it runs any more until Resume. If it fails,
  // the session goes on. FAILED_PRECONDITION names what would not survive.
  // REQUIRES: it serves.
  virtual absl::Status Park(absl::Time deadline) = 0;
  // The same for one that has not served yet, since its client has not
  // acknowledged a suspension.
  virtual void NoteIdle() = 0;

  // Copies the session's device memory to the file of this name, or to host
  // memory if it is empty: for SessionHoldings::Suspend. Waits until `deadline`
  // for the session's work to end; then nothing of it runs any more. If it
  // fails, the session goes on. FAILED_PRECONDITION names what cannot be
  // suspended.
  virtual absl::Status Suspend(const std::string& path,
                               absl::Time deadline) = 0;

  // Before Serve: it is to succeed the executor that had these.
  virtual void Inherit(std::unique_ptr<SessionHoldings> holdings) = 0;
  // Takes out all that is held for its session, for a successor; the process is
  // of no more use then. Null: there is no session. If nobody takes it until
  // the process has ended and OnEnd's callback has returned, it is given up.
  virtual std::unique_ptr<SessionHoldings> TakeHoldings() = 0;
  // The process's own report of its end, if that was a fault. nullopt: it
  // lives, or died without a word. Hostile input, cut to the bounds of
  // executor_report.h.
  virtual std::optional<internal::Fault> fault() const = 0;

  // `callback` is called once when the executor serves no session any more,
  // with why; at once if that was earlier. Its process has ended or, after a
  // fault of its device, does nothing until Stop or the end of this object.
  // Replaces the callback before it. It must not destroy the executor; after
  // OnEnd(nullptr) has returned, it does not run.
  virtual void OnEnd(std::function<void(absl::Status reason)> callback) = 0;

  // Asks it to free everything and exit; returns when it is gone. Still there
  // at the deadline, it is killed. Afterwards nothing is held for its session
  // any more.
  virtual void Stop(absl::Time deadline) = 0;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_H_
