// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/admin/admin.h"

#include "core/base/status_macros.h"
#include "holdfast/v1/admin.grpc.pb.h"

namespace holdfast {
namespace {

template <typename Request>
void SetTimeout(absl::Duration timeout, Request* request) {
  const int64_t seconds = absl::ToInt64Seconds(timeout);
  request->mutable_timeout()->set_seconds(seconds);
  request->mutable_timeout()->set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(timeout - absl::Seconds(seconds))));
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

absl::Status ResumeSession(Daemon& daemon, const std::string& session_id) {
  v1::ResumeSessionRequest request;
  request.set_session_id(session_id);
  grpc::ClientContext context;
  v1::ResumeSessionResponse response;
  return daemon.Explain(v1::AdminService::NewStub(daemon.channel())
                            ->ResumeSession(&context, request, &response));
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

}  // namespace holdfast
