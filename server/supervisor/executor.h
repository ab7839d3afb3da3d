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
  int descriptors = -1;  // a socket that listens for clients' descriptors
  // The tenant that pays for the session.
  std::shared_ptr<Tenant> tenant;
  // Counts what the session's executors do; may be null.
  std::shared_ptr<ExecutionTotals> execution;
};

// A session's view of the process that holds its resources. Thread-safe. The
// destructor ends the process.
//
// An executor comes from an ExecutorPool, gets a session with Serve, and serves
// only this session. If its process dies, a second executor takes over its
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

  // The process's id. The process may have ended.
  virtual pid_t pid() const = 0;

  // Returns the resource usage of the session. Asks the process, and waits for
  // its answer until the deadline. Returns the last report if there is no
  // answer. Concurrent calls share one question to the process.
  virtual internal::Usage AskUsage(absl::Time deadline) = 0;

  // Returns the number of the session's last received command, from the
  // journal. DATA_LOSS: the journal is malformed. UNAVAILABLE: there is no
  // session.
  virtual absl::StatusOr<uint64_t> ReceivedThrough() = 0;

  // Gives the executor its session, and returns when its socket accepts calls.
  // Called once. After Inherit, restores the session first: the answer names
  // the resources that were lost, and the executor takes commands after Resume.
  // If a resource of a suspended session is lost, the holdings keep the
  // session's bytes for a further executor.
  virtual absl::StatusOr<internal::Serving> Serve(const SessionStart& start,
                                                  absl::Time deadline) = 0;

  // Changes the session's limits. Does not wait for the process. If the process
  // has ended, the caller tells its successor. REQUIRES: Serve has returned.
  virtual void UpdateLimits(const internal::AccountLimits& limits) = 0;

  // Makes the executor take commands: the client has acknowledged the fault of
  // the executor before, or Park was undone. Returns when calls are answered.
  // DEADLINE_EXCEEDED: the executor did not answer in time.
  virtual absl::Status Resume(absl::Time deadline) = 0;

  // Finishes the session's work until `deadline`, and takes no more commands
  // until Resume. Called before another daemon takes over, which gives the
  // session another executor. If Park fails, the session continues.
  // FAILED_PRECONDITION names the resource that would not survive. REQUIRES:
  // the executor serves.
  virtual absl::Status Park(absl::Time deadline) = 0;
  // Park for an executor that takes no commands yet, because the client has not
  // acknowledged a suspension.
  virtual void NoteIdle() = 0;

  // Finishes the session's work until `deadline`, takes no more commands, and
  // copies the session's device memory to the file `path`, or to host memory if
  // `path` is empty. The copy has its own time limit, which depends on its
  // size. SessionHoldings::Suspend then releases the memory. If
  // Suspend fails, the session continues. FAILED_PRECONDITION names the
  // resource that cannot be suspended.
  virtual absl::Status Suspend(const std::string& path,
                               absl::Time deadline) = 0;

  // Makes this executor the successor of the executor that had these holdings.
  // REQUIRES: Serve was not called.
  virtual void Inherit(std::unique_ptr<SessionHoldings> holdings) = 0;
  // Takes the session's holdings for a successor; this process cannot serve the
  // session any more. Null if there is no session. The holdings outlive the
  // process. If they are not taken, Stop or the destructor releases them.
  virtual std::unique_ptr<SessionHoldings> TakeHoldings() = 0;
  // Returns the process's own report of its fault; nullopt if the process has
  // sent none. Hostile input, cut to the bounds of executor_report.h.
  virtual std::optional<internal::Fault> fault() const = 0;

  // Sets the callback for the end of the executor, in place of an earlier one.
  // It is called once, with the reason; at once if the executor has ended
  // already. Then the process has ended or, after a fault of its device, does
  // nothing until Stop or the end of this object. The callback must not destroy
  // the executor. It does not run after OnEnd(nullptr) has returned.
  virtual void OnEnd(std::function<void(absl::Status reason)> callback) = 0;

  // Asks the process to free everything and to exit; kills it at the deadline.
  // Returns when the process has ended and the session's holdings are released.
  virtual void Stop(absl::Time deadline) = 0;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_H_
