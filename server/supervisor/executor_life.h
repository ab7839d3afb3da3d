// SPDX-License-Identifier: Apache-2.0
//
// The life of an executor's process, as its supervisor sees it. Stages:
//
//   kPreparing ──BeginServing──▶ kServing ──NoteFault──▶ kFrozen
//        ▲                          │
//        └──────── Resume ──────────┘
//
// Two facts stand beside the stage. The exit is expected (ExpectExit) when the
// supervisor itself ends the process. The life is over (End) when the session
// has lost the process: when it has ended, or was frozen. Both may come at any
// stage, and neither is undone.
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_LIFE_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_LIFE_H_

#include <optional>

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::supervisor {

// Starts and ends nothing itself: its owner carries out what NoteFault returns.
// Not thread-safe.
class ExecutorLife {
 public:
  enum class Stage {
    kPreparing,  // takes no commands: warm, restoring a session, or resuming
    kServing,    // takes a session's commands
    kFrozen,     // stopped by a signal after a fault; exits when it is killed
  };

  // Notes that the process serves. Returns false if it served already, or is
  // frozen.
  bool BeginServing();
  // Notes that the process was told to resume, and has not answered yet. The
  // process may serve: then its next BeginServing counts again.
  void Resume();

  // What becomes of a process that has reported a fault.
  enum class AfterFault { kNothing, kKill, kFreeze };
  // Notes the report; the first report stays. Returns kNothing if the life is
  // over. A process that CUDA has given up runs no kernel any more. Its end
  // takes the driver's lock for a tenth of a second, which its successor would
  // wait for. So it is frozen until the session has recovered. Any other
  // process is killed: an endless kernel, or a driver that does not let go of
  // the device, must not keep the device; and a client of an MPS server
  // (`shares_server`) that has faulted must not keep the server.
  AfterFault NoteFault(const internal::Fault& fault, bool shares_server);
  // Notes a fault that the supervisor has found. Returns false if there is a
  // fault already, or the life is over.
  bool NoteHanging(const internal::Fault& fault);
  const std::optional<internal::Fault>& fault() const { return fault_; }

  // The supervisor ends the process.
  void ExpectExit() { exit_is_expected_ = true; }

  // Ends the life. Returns false if it was over; the first reason stays.
  bool End(const absl::Status& reason);
  // nullopt: the life is not over.
  const std::optional<absl::Status>& reason() const { return reason_; }

  bool is_serving() const { return stage_ == Stage::kServing; }
  bool is_frozen() const { return stage_ == Stage::kFrozen; }
  // True if a session lost the process unexpectedly.
  bool was_lost() const {
    return stage_ != Stage::kPreparing && !exit_is_expected_;
  }
  // True if the exit of the process has a cause of its own. A frozen process is
  // killed when its session has recovered, which is the end of its fault.
  bool exit_is_unexpected() const { return !exit_is_expected_ || is_frozen(); }

 private:
  Stage stage_ = Stage::kPreparing;
  bool exit_is_expected_ = false;
  std::optional<internal::Fault> fault_;
  std::optional<absl::Status> reason_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_LIFE_H_
