// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/fault_exit.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/error_detail.h"
#include "core/cuda/result.h"
#include "server/executor/recovery/fault_parser.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

constexpr int kFaultExitCode = 3;

// The longest wait for a client that does not read its results.
constexpr absl::Duration kOutputTime = absl::Milliseconds(50);

// For a supervisor that does not: it may be gone.
constexpr absl::Duration kLastTime = absl::Seconds(10);

SupervisorLink* fault_link = nullptr;
KernelOutput* fault_output = nullptr;

[[noreturn]] void ReportAndExit(const absl::Status& status) {
  internal::Fault fault;
  if (const auto detail = GetErrorDetail(status); detail.has_value()) {
    fault = ParseFaultText(detail->explanation);
    if (detail->result == CUDA_ERROR_ASSERT && !fault.has_thread()) {
      fault_output->Flush();
      fault.MergeFrom(ParseAssertion(fault_output->FirstAssertion()));
    }
  }
  *fault.mutable_error() = ToError(status);
  ExitWith(std::move(fault));
}

}  // namespace

void ExitWith(internal::Fault fault) {
  static std::atomic<bool> reported{false};
  // Another thread is at it, and ends this one with the process.
  while (reported.exchange(true)) absl::SleepFor(absl::Seconds(1));
  fault_output->FlushAndAwait(kOutputTime);
  fault_link->SendFault(fault);
  // The supervisor ends the process when nothing has to wait for that; see
  // ExecutorProcess::NoteFault.
  absl::SleepFor(kLastTime);
  _exit(kFaultExitCode);
}

void ExitOnFault(SupervisorLink& link, KernelOutput& output) {
  fault_link = &link;
  fault_output = &output;
  cuda::OnStickyError(
      [](const absl::Status& status) { ReportAndExit(status); });
}

}  // namespace holdfast::executor
