// SPDX-License-Identifier: Apache-2.0
//
// The state of a CommandQueue's session, as its client sees it:
//
//   serving ──Suspend──▶ suspended ──Want──▶ wanted
//   suspended, wanted ──ResumeSuspended──▶ serving
//   serving ──Ask──▶ asking ──Consent──▶ consented ──Resume──▶ serving
//
// Resume also leads from the other states to serving: most faults need no
// consent, and a suspended session that lost commands continues as after a
// fault. Lose is possible in every state, and the session then stays lost.
#ifndef HOLDFAST_CLIENT_CPP_SUBMISSION_QUEUE_STATE_H_
#define HOLDFAST_CLIENT_CPP_SUBMISSION_QUEUE_STATE_H_

#include <cstdint>

#include "absl/status/status.h"

namespace holdfast {

// The state of a session, and its last fault. A fault is untold until a call
// returns it. The first call that submits a command or waits returns it, so
// that no command runs on destroyed data before the fault is reported. Calls of
// quiet threads (quiet_thread.h) return the fault and leave it untold. Not
// thread-safe.
class QueueState {
 public:
  // Returns OK, or the reason why no command can be submitted now: the loss of
  // the session, an untold fault (which is then told, as in TellFault), or the
  // fault that waits for consent.
  absl::Status CheckSubmission() {
    if (lost_.ok() && !fault_untold_ && !asking()) [[likely]]
      return absl::OkStatus();
    return Refusal();
  }

  // Notes that this fault needs the user's consent.
  void Ask(const absl::Status& fault);
  // Notes the consent. FAILED_PRECONDITION: no fault needs it. Returns the
  // session's loss if it is lost.
  absl::Status Consent();
  // True from Ask to Resume, also after Consent.
  bool asking() const {
    return phase_ == Phase::kAsking || phase_ == Phase::kConsented;
  }
  bool consented() const { return phase_ == Phase::kConsented; }

  // Notes a suspension. `wanted`: there are commands to send already.
  void Suspend(bool wanted) {
    phase_ = wanted ? Phase::kWanted : Phase::kSuspended;
  }
  // Notes that a call needs the session. REQUIRES: suspended().
  void Want() { phase_ = Phase::kWanted; }
  bool suspended() const {
    return phase_ == Phase::kSuspended || phase_ == Phase::kWanted;
  }
  bool wanted() const { return phase_ == Phase::kWanted; }

  // Notes that the session serves again after this fault. The fault is untold,
  // unless the user was asked for consent.
  void Resume(const absl::Status& fault);
  // Notes that the session serves again and has lost nothing.
  void ResumeSuspended();

  // Notes the session's loss. Returns false if it is lost already: the first
  // reason counts.
  bool Lose(const absl::Status& reason);
  // The reason for the session's loss; OK: the session is not lost.
  const absl::Status& lost() const { return lost_; }

  // Makes a fault untold, without a change of the state.
  void SetFault(const absl::Status& fault);
  bool fault_untold() const { return fault_untold_; }
  const absl::Status& fault() const { return fault_; }
  // Returns the fault, which is then told, except by a quiet thread.
  absl::Status TellFault();
  // Notes that a call has returned `status`, which may be the fault.
  void NoteTold(const absl::Status& status);

  // The numbers of calls of Resume and of ResumeSuspended.
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
