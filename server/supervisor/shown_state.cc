// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/shown_state.h"

namespace holdfast::supervisor {

using session::Phase;
using session::Reason;

v1::SessionInfo::State ShownState(const session::State& state, bool detached) {
  using Info = v1::SessionInfo;
  const auto running = detached ? Info::STATE_DETACHED : Info::STATE_ACTIVE;
  const bool fault = state.why == Reason::kFault;
  switch (state.phase) {
    case Phase::kServing:
    case Phase::kQuiescing:
      return running;
    case Phase::kParked:
    case Phase::kLeft:
      return ShownState({.phase = state.unparked, .why = state.why}, detached);
    case Phase::kRecovering:
      return Info::STATE_RECOVERING;
    case Phase::kStopped:
    case Phase::kPlacing:
      return fault ? Info::STATE_FAULTED : Info::STATE_SUSPENDED;
    case Phase::kRestored:
    case Phase::kResuming:
      return fault ? Info::STATE_FAULTED : running;
    case Phase::kLost:
      return Info::STATE_LOST;
    case Phase::kClosed:
      break;
  }
  return Info::STATE_CLOSING;
}

}  // namespace holdfast::supervisor
