// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/queue_state.h"

#include "client/cpp/submission/quiet_thread.h"
#include "core/base/fault_epoch.h"

namespace holdfast {

absl::Status QueueState::Refusal() {
  if (!lost_.ok()) return lost_;
  return fault_untold_ ? TellFault() : fault_;
}

void QueueState::Ask(const absl::Status& fault) {
  fault_ = fault;
  phase_ = Phase::kAsking;
}

absl::Status QueueState::Consent() {
  if (!lost_.ok()) return lost_;
  if (!asking()) {
    return absl::FailedPreconditionError(
        "the session has no fault to recover from");
  }
  phase_ = Phase::kConsented;
  return absl::OkStatus();
}

void QueueState::Resume(const absl::Status& fault) {
  fault_ = fault;
  // The caller that was asked knows of the fault.
  fault_untold_ = !asking();
  phase_ = Phase::kServing;
  ++faults_;
}

void QueueState::ResumeSuspended() {
  phase_ = Phase::kServing;
  ++suspensions_;
}

bool QueueState::Lose(const absl::Status& reason) {
  if (!lost_.ok()) return false;
  lost_ = reason;
  return true;
}

void QueueState::SetFault(const absl::Status& fault) {
  fault_ = fault;
  fault_untold_ = true;
}

absl::Status QueueState::TellFault() {
  if (!IsQuietThread()) fault_untold_ = false;
  return fault_;
}

void QueueState::NoteTold(const absl::Status& status) {
  const uint64_t epoch = FaultEpochOf(status);
  if (epoch != 0 && FaultEpochOf(fault_) == epoch) fault_untold_ = false;
}

}  // namespace holdfast
