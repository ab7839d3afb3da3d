// SPDX-License-Identifier: Apache-2.0
//
// The end of an executor:
//
//   running ──NoteFault──▶ faulted ──Freeze──▶ frozen ──End──▶ ended
//
// Every step may be left out. Want may come at any time.
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_END_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_END_H_

#include <optional>

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::supervisor {

// Not thread-safe.
class ExecutorEnd {
 public:
  // The supervisor ends the process: its exit is expected.
  void Want() { is_wanted_ = true; }
  bool is_wanted() const { return is_wanted_; }

  // Keeps the first report of a fault.
  void NoteFault(const internal::Fault& fault) {
    if (!fault_.has_value()) fault_ = fault;
  }
  const std::optional<internal::Fault>& fault() const { return fault_; }

  // The process is stopped by a signal, and does not exit yet.
  void Freeze() { is_frozen_ = true; }
  bool is_frozen() const { return is_frozen_; }

  // Notes that the session has no executor any more, even if the process still
  // runs. Returns false if End was called before; the first reason stays.
  bool End(const absl::Status& reason) {
    if (reason_.has_value()) return false;
    reason_ = reason;
    return true;
  }
  // nullopt: the session has the executor.
  const std::optional<absl::Status>& reason() const { return reason_; }

 private:
  bool is_wanted_ = false;
  bool is_frozen_ = false;
  std::optional<internal::Fault> fault_;
  std::optional<absl::Status> reason_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_END_H_
