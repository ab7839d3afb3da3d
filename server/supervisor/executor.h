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

  // Returns the process's id. The process may have ended.
  virtual pid_t pid() const = 0;

  // Returns the resource usage of the session. Requests it from the process,
  // and waits for the answer until the deadline. Returns the last report if
  // there is no answer. Concurrent calls share one request to the process.
  virtual internal::Usage AskUsage(absl::Time deadline) = 0;

  // Returns the number of the session's last received command, from the
  // journal. DATA_LOSS: the journal is malformed. UNAVAILABLE: there is no
  // session.
  virtual absl::StatusOr<uint64_t> ReceivedThrough() = 0;

  // Gives the executor its session, and blocks until its socket accepts calls.
  // Called once. After Inherit, restores the session first: the result names
  // the resources that were lost, and the executor takes commands after Resume.
  // If a resource of a suspended session is lost, the holdings keep the
  // session's bytes for another executor.
  virtual absl::StatusOr<internal::Serving> Serve(const SessionStart& start,
                                                  absl::Time deadline) = 0;

  // Changes the session's limits. Does not wait for the process. If the process
  // has ended, the caller must set the limits of its successor. REQUIRES: Serve
  // has returned.
  virtual void UpdateLimits(const internal::AccountLimits& limits) = 0;

  // Makes the executor take commands, after the client has acknowledged the
  // fault of the previous executor, or after Park. Blocks until the executor
  // answers calls. DEADLINE_EXCEEDED: the executor did not answer in time.
  virtual absl::Status Resume(absl::Time deadline) = 0;

  // Blocks until the session's work has ended, at most until `deadline`. The
  // executor then takes no commands until Resume. Called before another daemon
  // takes over, which gives the session another executor. If Park fails, the
  // session continues. FAILED_PRECONDITION: a resource, which the message
  // names, would not survive. REQUIRES: the executor serves.
  virtual absl::Status Park(absl::Time deadline) = 0;
  // Does what Park does, for an executor that takes no commands yet because the
  // client has not acknowledged a suspension.
  virtual void NoteIdle() = 0;

  // Waits until the session's work has ended, at most until `deadline`, and
  // makes the executor take no more commands. Then copies the session's device
  // memory to the file `path`, or to host memory if `path` is empty, and blocks
  // until that is done. The copy has its own time limit, which depends on its
  // size. SessionHoldings::Suspend then releases the memory. If Suspend fails,
  // the session continues. FAILED_PRECONDITION: a resource, which the message
  // names, cannot be suspended.
  virtual absl::Status Suspend(const std::string& path,
                               absl::Time deadline) = 0;

  // Makes this executor the successor of the executor that had these holdings.
  // REQUIRES: Serve was not called.
  virtual void Inherit(std::unique_ptr<SessionHoldings> holdings) = 0;
  // Returns the session's holdings, for a successor; null if there is no
  // session. This process then cannot serve the session any more. The holdings
  // outlive the process. If they are not taken, Stop or the destructor releases
  // them.
  virtual std::unique_ptr<SessionHoldings> TakeHoldings() = 0;
  // Returns the process's own report of its fault; nullopt if the process has
  // sent none. Hostile input, cut to the bounds of executor_report.h.
  virtual std::optional<internal::Fault> fault() const = 0;

  // Sets the callback for the end of the executor, in place of an earlier one.
  // It is called once, with the reason; at once if the executor has ended
  // already. When it runs, the process has ended or, after a fault of its
  // device, was stopped until Stop or the end of this object. The callback must
  // not destroy the executor. It does not run after OnEnd(nullptr) has
  // returned.
  virtual void OnEnd(std::function<void(absl::Status reason)> callback) = 0;

  // Asks the process to free everything and to exit; kills it at the deadline.
  // Blocks until the process has ended and the session's holdings are released.
  virtual void Stop(absl::Time deadline) = 0;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_H_
