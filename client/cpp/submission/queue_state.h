// SPDX-License-Identifier: Apache-2.0
//
// The session of a CommandQueue, as its client sees it:
//
//   serving ──Suspend──▶ suspended ──Want──▶ wanted ──GoOnSuspended──▶ serving
//   serving ────Ask────▶ asking ──Consent──▶ consented ─────GoOn─────▶ serving
//
// GoOn also comes from the other states: most faults are not asked about, and a
// suspended session that lost commands goes on as after a fault. Lose may come
// in every state, and nothing changes after it.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_QUEUE_STATE_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_QUEUE_STATE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace holdfast {

// A fault is untold until a call returns it: the first call that submits a
// command or waits does, so that nothing runs on what the fault has destroyed
// before the caller knows. Calls of quiet threads (quiet_thread.h) return the
// fault and leave it untold. Not thread-safe.
class QueueState {
 public:
  // Returns the reason why no command can be submitted now: the loss of the
  // session, an untold fault, which is told thereby, or the fault that waits
  // for consent.
  absl::Status CheckSubmission() {
    if (lost_.ok() && !fault_untold_ && !asking()) [[likely]]
      return absl::OkStatus();
    return Refusal();
  }

  // The fault waits for the user's consent.
  void Ask(const absl::Status& fault);
  // FAILED_PRECONDITION: there is no such fault. The session's loss.
  absl::Status Consent();
  // True from Ask until the session goes on, also after Consent.
  bool asking() const {
    return phase_ == Phase::kAsking || phase_ == Phase::kConsented;
  }
  bool consented() const { return phase_ == Phase::kConsented; }

  // `wanted`: there is something to send already.
  void Suspend(bool wanted) {
    phase_ = wanted ? Phase::kWanted : Phase::kSuspended;
  }
  // A call needs the session. REQUIRES: suspended().
  void Want() { phase_ = Phase::kWanted; }
  bool suspended() const {
    return phase_ == Phase::kSuspended || phase_ == Phase::kWanted;
  }
  bool wanted() const { return phase_ == Phase::kWanted; }

  // The session serves again, after this fault.
  void GoOn(const absl::Status& fault);
  // The session serves again, and lost nothing.
  void GoOnSuspended();

  // Returns false if the session is lost already: the first reason counts.
  bool Lose(const absl::Status& reason);
  // OK: the session is not lost.
  const absl::Status& lost() const { return lost_; }

  // Makes a fault untold, without a change of the state.
  void SetFault(const absl::Status& fault);
  bool fault_untold() const { return fault_untold_; }
  const absl::Status& fault() const { return fault_; }
  // Returns the fault, which is told thereby.
  absl::Status TellFault();
  // A call has returned `status`, which may be the fault.
  void NoteTold(const absl::Status& status);

  // Calls of GoOn, and of GoOnSuspended.
  uint64_t faults() const { return faults_; }
  uint64_t suspensions() const { return suspensions_; }

 private:
  enum class Phase { kServing, kAsking, kConsented, kSuspended, kWanted };

  absl::Status Refusal();

  Phase phase_ = Phase::kServing;
  absl::Status lost_;
  absl::Status fault_;  // the last one
  bool fault_untold_ = false;
  uint64_t faults_ = 0;
  uint64_t suspensions_ = 0;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SUBMISSION_QUEUE_STATE_H_
