// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/admin/admin.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "grpcpp/channel.h"
#include "holdfast/v1/admin.grpc.pb.h"

namespace holdfast {
namespace {

// The new daemon starts its first executor before it answers.
constexpr absl::Duration kUpgradeTime = absl::Minutes(2);
constexpr absl::Duration kAnswerTime = absl::Seconds(5);
constexpr absl::Duration kInterval = absl::Milliseconds(5);

template <typename Request>
void SetTimeout(absl::Duration timeout, Request* request) {
  const int64_t seconds = absl::ToInt64Seconds(timeout);
  request->mutable_timeout()->set_seconds(seconds);
  request->mutable_timeout()->set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(timeout - absl::Seconds(seconds))));
}

// When the daemon that answers was started.
absl::StatusOr<absl::Time> StartOf(Daemon& daemon, absl::Time deadline) {
  grpc::ClientContext context;
  if (deadline != absl::InfiniteFuture()) {
    context.set_deadline(absl::ToChronoTime(deadline));
  }
  v1::GetServerInfoResponse info;
  HOLDFAST_RETURN_IF_ERROR(
      daemon.Explain(v1::AdminService::NewStub(daemon.channel())
                         ->GetServerInfo(&context, {}, &info)));
  return absl::FromUnixSeconds(info.started().seconds()) +
         absl::Nanoseconds(info.started().nanos());
}

absl::StatusOr<uint32_t> Drain(Daemon& daemon,
                               const v1::DrainRequest& request) {
  grpc::ClientContext context;
  v1::DrainResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon.Explain(v1::AdminService::NewStub(daemon.channel())
                         ->Drain(&context, request, &response)));
  return response.sessions_left();
}

}  // namespace

absl::Status EndSession(Daemon& daemon, const std::string& session_id,
                        const std::string& reason) {
  v1::EndSessionRequest request;
  request.set_session_id(session_id);
  request.set_reason(reason);
  grpc::ClientContext context;
  v1::EndSessionResponse response;
  return daemon.Explain(v1::AdminService::NewStub(daemon.channel())
                            ->EndSession(&context, request, &response));
}

absl::Status SetSessionQuota(Daemon& daemon, const std::string& session_id,
                             const v1::Quota& quota) {
  v1::SetQuotaRequest request;
  request.set_session_id(session_id);
  *request.mutable_quota() = quota;
  grpc::ClientContext context;
  v1::SetQuotaResponse response;
  return daemon.Explain(v1::AdminService::NewStub(daemon.channel())
                            ->SetQuota(&context, request, &response));
}

absl::StatusOr<uint64_t> SuspendSession(Daemon& daemon,
                                        const std::string& session_id,
                                        const SuspendOptions& options) {
  v1::SuspendSessionRequest request;
  request.set_session_id(session_id);
  request.set_file(options.file);
  if (options.timeout != absl::ZeroDuration()) {
    SetTimeout(options.timeout, &request);
  }
  grpc::ClientContext context;
  v1::SuspendSessionResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon.Explain(v1::AdminService::NewStub(daemon.channel())
                         ->SuspendSession(&context, request, &response)));
  return response.bytes();
}

absl::StatusOr<std::vector<uint32_t>> ResumeSession(
    Daemon& daemon, const std::string& session_id,
    const ResumeOptions& options) {
  v1::ResumeSessionRequest request;
  request.set_session_id(session_id);
  if (options.device.has_value()) request.set_device(*options.device);
  grpc::ClientContext context;
  v1::ResumeSessionResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon.Explain(v1::AdminService::NewStub(daemon.channel())
                         ->ResumeSession(&context, request, &response)));
  return std::vector<uint32_t>(response.devices().begin(),
                               response.devices().end());
}

absl::StatusOr<uint32_t> Drain(Daemon& daemon, absl::Duration timeout) {
  v1::DrainRequest request;
  if (timeout != absl::InfiniteDuration()) SetTimeout(timeout, &request);
  return Drain(daemon, request);
}

absl::Status StopDrain(Daemon& daemon) {
  v1::DrainRequest request;
  request.set_stop(true);
  request.mutable_timeout();  // Zero: it need not wait for sessions.
  return Drain(daemon, request).status();
}

absl::StatusOr<Upgraded> Upgrade(Daemon& daemon, absl::Duration timeout) {
  HOLDFAST_ASSIGN_OR_RETURN(const absl::Time before,
                            StartOf(daemon, absl::InfiniteFuture()));
  v1::UpgradeRequest request;
  if (timeout != absl::ZeroDuration()) SetTimeout(timeout, &request);
  grpc::ClientContext context;
  v1::UpgradeResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon.Explain(v1::AdminService::NewStub(daemon.channel())
                         ->Upgrade(&context, request, &response)));
  const absl::Time began = SteadyNow();
  absl::Status failure;
  while (SteadyNow() - began < kUpgradeTime) {
    // A connection of the old daemon's may be on its way to its end.
    auto next = Daemon::Connect(daemon.address().text);
    const auto started =
        next.ok() ? StartOf(**next, absl::Now() + kAnswerTime) : next.status();
    if (started.ok() && *started != before) {
      return Upgraded{response.version(), SteadyNow() - began};
    }
    failure.Update(started.status());
    absl::SleepFor(kInterval);
  }
  return absl::UnavailableError(
      absl::StrCat("no new daemon answers: ", failure.message()));
}

}  // namespace holdfast
