// SPDX-License-Identifier: Apache-2.0
//
// The life of an executor's process, as the supervisor sees it. Stages:
//
//   kPreparing ──BeginServing──▶ kServing ──NoteFault──▶ kFrozen
//        ▲                          │
//        └──────── Resume ──────────┘
//
// Two facts are independent of the stage. The exit is expected (ExpectExit)
// when the supervisor itself ends the process. The life is over (End) when the
// session has lost the process, because the process has ended or was frozen.
// Each of the two may become true at any stage, and stays true.
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_LIFE_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_LIFE_H_

#include <optional>

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::supervisor {

// This class only keeps the state: its owner carries out what NoteFault
// returns. Not thread-safe.
class ExecutorLife {
 public:
  enum class Stage {
    kPreparing,  // takes no commands: warm, restoring a session, or resuming
    kServing,    // takes a session's commands
    kFrozen,     // stopped by a signal after a fault; exits when it is killed
  };

  // Notes that the process serves. Returns false if the process served already,
  // or is frozen.
  bool BeginServing();
  // Notes that the process was asked to resume, and has not answered yet. A
  // process that served returns to kPreparing, so that the next BeginServing
  // returns true.
  void Resume();

  // The action for a process that has reported a fault.
  enum class AfterFault { kNothing, kKill, kFreeze };
  // Notes the report; the first report stays. Returns kNothing if the life is
  // over, kFreeze if CUDA has reported an error of the device while the process
  // served, and kKill otherwise. After such an error, no kernel of the process
  // runs any more. The end of the process would hold the driver's lock for a
  // tenth of a second, and its successor would wait for the lock, so the
  // process is frozen until the session has recovered. Other processes are
  // killed: an endless kernel, or a driver that does not release the device,
  // must not keep the device. A client of an MPS server (`shares_server`) is
  // killed, too, because it must not keep the server.
  AfterFault NoteFault(const internal::Fault& fault, bool shares_server);
  // Notes a fault that the supervisor has detected. Returns false if there is a
  // fault already, or the life is over.
  bool NoteHanging(const internal::Fault& fault);
  const std::optional<internal::Fault>& fault() const { return fault_; }

  // Notes that the supervisor ends the process.
  void ExpectExit() { exit_is_expected_ = true; }

  // Ends the life. Returns false if it was over; the first reason stays.
  bool End(const absl::Status& reason);
  // Returns the reason of End; nullopt: the life is not over.
  const std::optional<absl::Status>& reason() const { return reason_; }

  bool is_serving() const { return stage_ == Stage::kServing; }
  bool is_frozen() const { return stage_ == Stage::kFrozen; }
  // Returns true if a session has lost the process unexpectedly.
  bool was_lost() const {
    return stage_ != Stage::kPreparing && !exit_is_expected_;
  }
  // Returns true if the process does not exit only because the supervisor ends
  // it. That holds for a frozen process, too: the supervisor kills it when its
  // session has recovered, but the cause is its fault.
  bool exit_is_unexpected() const { return !exit_is_expected_ || is_frozen(); }

 private:
  Stage stage_ = Stage::kPreparing;
  bool exit_is_expected_ = false;
  std::optional<internal::Fault> fault_;
  std::optional<absl::Status> reason_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_LIFE_H_
