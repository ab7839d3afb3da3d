// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_life.h"

#include "core/base/error_detail.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::supervisor {

bool ExecutorLife::BeginServing() {
  if (stage_ != Stage::kPreparing) return false;
  stage_ = Stage::kServing;
  return true;
}

void ExecutorLife::Resume() {
  if (stage_ == Stage::kServing) stage_ = Stage::kPreparing;
}

ExecutorLife::AfterFault ExecutorLife::NoteFault(const internal::Fault& fault,
                                                 bool shares_server) {
  if (reason_.has_value()) return AfterFault::kNothing;
  if (!fault_.has_value()) fault_ = fault;
  const auto detail = GetErrorDetail(FromError(fault_->error()));
  const bool of_cuda = detail.has_value() && detail->result != 0;
  if (!of_cuda || !is_serving() || exit_is_expected_ || shares_server) {
    return AfterFault::kKill;
  }
  stage_ = Stage::kFrozen;
  return AfterFault::kFreeze;
}

bool ExecutorLife::NoteHanging(const internal::Fault& fault) {
  if (reason_.has_value() || fault_.has_value()) return false;
  fault_ = fault;
  return true;
}

bool ExecutorLife::End(const absl::Status& reason) {
  if (reason_.has_value()) return false;
  reason_ = reason;
  return true;
}

}  // namespace holdfast::supervisor
