// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SESSION_SESSION_GATE_H_
#define HOLDFAST_SERVER_EXECUTOR_SESSION_SESSION_GATE_H_

#include <cstddef>
#include <stop_token>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace holdfast::executor {

// Admits work of clients to the session. Closed while the session is being
// suspended: threads that bring work wait in front of it. Thread-safe.
//
// A thread that brings work enters first, and keeps the pass until the work is
// in the session's hands:
//
//   HOLDFAST_ASSIGN_OR_RETURN(const auto pass, gate.Enter(cancelled));
class SessionGate {
 public:
  // Held by a thread while it takes work in. Must not outlive the gate.
  // Move-only. Release gives it back early.
  class Pass {
   public:
    Pass() = default;
    ~Pass() { Release(); }
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Pass& operator=(Pass&& other) noexcept {
      Release();
      gate_ = std::exchange(other.gate_, nullptr);
      return *this;
    }

    bool held() const { return gate_ != nullptr; }
    void Release() {
      if (gate_ != nullptr) std::exchange(gate_, nullptr)->Leave();
    }

   private:
    friend class SessionGate;
    explicit Pass(SessionGate* gate) : gate_(gate) {}

    SessionGate* gate_ = nullptr;
  };

  // Blocks while the gate is closed. Fails with End's reason. CANCELLED: the
  // call that brings the work is `cancelled`, and the gate was still closed.
  absl::StatusOr<Pass> Enter(const std::stop_token& cancelled);

  // From now on nobody enters. Blocks until nobody holds a pass any more;
  // returns false if somebody still does at the deadline. Closed in either
  // case, until Open.
  bool Close(absl::Time deadline);
  // Lets those in that wait.
  void Open();
  bool closed() const;

  // Nobody will ever enter again: fails every Enter with `reason`. The first
  // reason stays. Those that are inside may finish.
  void End(const absl::Status& reason);

 private:
  bool Decided() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !closed_ || !end_.ok();
  }
  absl::StatusOr<Pass> Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Called by the pass.
  void Leave();

  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t inside_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SESSION_SESSION_GATE_H_
