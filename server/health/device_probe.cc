// SPDX-License-Identifier: Apache-2.0
#include "server/health/device_probe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/steady_time.h"
#include "holdfast/v1/common.pb.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

constexpr absl::Duration kGiveUpPoll = absl::Milliseconds(100);

// A process that has closed its channel is exiting.
constexpr absl::Duration kExitTime = absl::Seconds(5);

absl::Status Ended(ChildProcess& process) {
  const auto report = process.Wait(absl::Now() + kExitTime);
  return absl::UnavailableError(absl::StrCat(
      "the process of the probe ", report.has_value()
                                       ? report->ToString()
                                       : "has closed its channel and lingers"));
}

absl::Status AwaitAnswer(ChildProcess& process, absl::Duration limit,
                         const std::function<bool()>& given_up) {
  const absl::Time deadline = SteadyNow() + limit;
  while (true) {
    v1::Error answer;
    const absl::Duration left = deadline - SteadyNow();
    const auto received = process.channel().Receive(
        &answer, absl::Now() + std::min(left, kGiveUpPoll));
    if (received.ok()) {
      return answer.code() == 0 ? absl::OkStatus() : FromError(answer);
    }
    if (!absl::IsDeadlineExceeded(received.status())) return Ended(process);
    if (given_up()) return absl::CancelledError("given up");
    if (SteadyNow() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("a small kernel did not run to its end within ",
                       absl::FormatDuration(limit)));
    }
  }
}

}  // namespace

ProbeOutcome ProbeDevice(
    const std::function<absl::StatusOr<std::unique_ptr<ChildProcess>>()>& start,
    absl::Duration limit, const std::function<bool()>& given_up) {
  auto process = start();
  if (!process.ok()) return {process.status(), nullptr};
  ProbeOutcome outcome;
  outcome.status = AwaitAnswer(**process, limit, given_up);
  (*process)->Kill();
  outcome.process = *std::move(process);
  return outcome;
}

}  // namespace holdfast
