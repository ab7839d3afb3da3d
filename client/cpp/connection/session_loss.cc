// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/session_loss.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/connection/daemon_stubs.h"
#include "client/cpp/connection/rpc_status.h"
#include "core/base/error_detail.h"
#include "core/base/fault_epoch.h"
#include "core/base/steady_time.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "proto/metadata.h"

namespace holdfast {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(5);
constexpr absl::Duration kInterval = absl::Milliseconds(20);
// One question may wait for an executor that is dead: then it is asked again.
constexpr absl::Duration kAnswerTime = absl::Seconds(1);

constexpr absl::Duration kRecoveryTime = absl::Minutes(2);

bool IsLost(const absl::Status& status) {
  const auto detail = GetErrorDetail(status);
  return detail.has_value() && detail->session_lost;
}

bool TellsWhy(const absl::Status& status) {
  return IsLost(status) || FaultEpochOf(status) != 0 ||
         absl::IsNotFound(status) || absl::IsUnauthenticated(status);
}

// Commands that do nothing, by way of the daemon.
grpc::Status Ask(const Daemon& daemon, const std::string& token,
                 absl::Time deadline) {
  grpc::ClientContext context;
  context.AddMetadata(kSessionTokenKey.name, token);
  context.set_deadline(absl::ToChronoTime(deadline));
  v1::CommandBatch nothing;
  nothing.set_first_sequence(1);
  v1::ResultBatch results;
  return v1::CommandService::NewStub(daemon.channel())
      ->Run(&context, nothing, &results);
}

// Does the session's executor answer? It refuses a number that was used before.
bool Works(const grpc::Status& answer) {
  return answer.ok() ||
         answer.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
}

}  // namespace

absl::Status LostSession(const std::string& session_id,
                         const absl::Status& reason) {
  const std::string session = absl::StrCat("session ", session_id, " is lost");
  absl::string_view why = reason.message();
  // The daemon says so, too.
  if (absl::ConsumePrefix(&why, session)) {
    absl::ConsumePrefix(&why, " with all its resources");
    absl::ConsumePrefix(&why, ": ");
  }
  absl::Status lost = absl::UnavailableError(absl::StrCat(session, ": ", why));
  ErrorDetail detail = GetErrorDetail(reason).value_or(ErrorDetail());
  detail.session_lost = true;
  SetErrorDetail(detail, &lost);
  return lost;
}

absl::Status ExplainLoss(const Daemon& daemon, const std::string& session_id,
                         const std::string& token, const RestartGrace& restart,
                         const absl::Status& status) {
  absl::Status reason = status;
  const absl::Time began = SteadyNow();
  const auto left = [&] {
    return began + std::max(kPatience, restart.Get()) - SteadyNow();
  };
  while (!TellsWhy(reason) && left() > absl::ZeroDuration()) {
    const grpc::Status answer =
        Ask(daemon, token, absl::Now() + std::min(left(), kAnswerTime));
    // A session that still works lost its stream for the reason at hand.
    if (Works(answer)) break;
    reason = daemon.Explain(answer);
    if (daemon.channel()->GetState(false) != GRPC_CHANNEL_READY &&
        restart.Get() == absl::ZeroDuration()) {
      break;
    }
    if (!TellsWhy(reason)) absl::SleepFor(kInterval);
  }
  if (FaultEpochOf(reason) != 0) return reason;
  return LostSession(session_id, reason);
}

absl::StatusOr<v1::AcknowledgeFaultResponse> AcknowledgeFault(
    Daemon& daemon, const std::string& token, const RestartGrace& restart,
    uint64_t epoch) {
  const absl::Time began = SteadyNow();
  const absl::Time deadline = absl::Now() + kRecoveryTime;
  while (true) {
    grpc::ClientContext context;
    context.AddMetadata(kSessionTokenKey.name, token);
    context.set_deadline(absl::ToChronoTime(deadline));
    v1::AcknowledgeFaultRequest request;
    request.set_epoch(epoch);
    v1::AcknowledgeFaultResponse response;
    const absl::Status status = daemon.Explain(
        daemon.stubs().sessions.AcknowledgeFault(&context, request, &response));
    if (status.ok()) return response;
    if (absl::IsUnavailable(status) && SteadyNow() - began < restart.Get() &&
        !IsLost(status)) {
      absl::SleepFor(kInterval);
      continue;
    }
    // Another fault has come meanwhile.
    epoch = FaultEpochOf(status);
    if (epoch == 0) return status;
  }
}

}  // namespace holdfast
