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

// Admits clients' work to the session. The gate is closed while the session is
// being suspended; threads with work then wait. Thread-safe.
//
// A thread that has work enters the gate first, and holds the pass until the
// session has accepted the work:
//
//   HOLDFAST_ASSIGN_OR_RETURN(const auto pass, gate.Enter(cancelled));
class SessionGate {
 public:
  // The right to submit work, which a thread holds while it does so. The
  // destructor, or Release, gives it back. Must not outlive the gate.
  // Move-only.
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

  // Blocks while the gate is closed, and returns a pass. Fails with the reason
  // of End. CANCELLED: a stop of `cancelled` was requested while the gate was
  // closed.
  absl::StatusOr<Pass> Enter(const std::stop_token& cancelled);

  // Closes the gate until Open. Blocks until no pass is held. Returns false if
  // a pass is still held at the deadline; the gate stays closed.
  bool Close(absl::Time deadline);
  // Opens the gate, and admits the waiting threads.
  void Open();
  bool closed() const;

  // Makes present and later calls of Enter fail with `reason`. Only the first
  // call has an effect. Held passes stay valid.
  void End(const absl::Status& reason);

 private:
  bool Decided() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !closed_ || !end_.ok();
  }
  absl::StatusOr<Pass> Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives a pass back.
  void Leave();

  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  size_t inside_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SESSION_SESSION_GATE_H_
