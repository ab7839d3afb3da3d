// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/daemon.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/cpp/connection/bearer_token.h"
#include "client/cpp/connection/channel.h"
#include "client/cpp/connection/daemon_stubs.h"
#include "client/cpp/connection/forked_process.h"
#include "client/cpp/connection/rpc_status.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(10);

}  // namespace

absl::StatusOr<std::shared_ptr<Daemon>> Daemon::Connect(
    absl::string_view text) {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  HOLDFAST_ASSIGN_OR_RETURN(
      Address address,
      Address::Parse(text.empty() ? DefaultAddress() : std::string(text)));
  if (text.empty()) HOLDFAST_RETURN_IF_ERROR(CheckDefaultAddress(address));
  std::unique_ptr<EmbeddedDaemon> embedded;
  Address reachable = address;
  std::string token;
  if (address.kind == Address::Kind::kEmbedded) {
    HOLDFAST_ASSIGN_OR_RETURN(embedded, EmbeddedDaemon::Start(address.options));
    HOLDFAST_ASSIGN_OR_RETURN(reachable, Address::Parse(embedded->address()));
  } else {
    HOLDFAST_ASSIGN_OR_RETURN(token, DefaultToken());
  }
  HOLDFAST_ASSIGN_OR_RETURN(auto channel,
                            ConnectToDaemon(reachable, kConnectTimeout, token));
  return KeepIfForked(new Daemon(std::move(reachable), std::move(embedded),
                                 std::move(channel)));
}

Daemon::Daemon(Address address, std::unique_ptr<EmbeddedDaemon> embedded,
               std::shared_ptr<grpc::Channel> channel)
    : address_(std::move(address)),
      embedded_(std::move(embedded)),
      channel_(std::move(channel)),
      stubs_(std::make_unique<DaemonStubs>(channel_)) {}

Daemon::~Daemon() = default;

const std::shared_ptr<grpc::Channel>& Daemon::channel() const {
  return IsForked() ? RefusingChannel() : channel_;
}

DaemonStubs& Daemon::stubs() const {
  if (!IsForked()) [[likely]]
    return *stubs_;
  static auto& refusing = *new DaemonStubs(RefusingChannel());
  return refusing;
}

absl::StatusOr<v1::GetServerInfoResponse> Daemon::Info() {
  grpc::ClientContext context;
  v1::GetServerInfoResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      Explain(stubs().admin.GetServerInfo(&context, {}, &response)));
  return response;
}

absl::StatusOr<v1::ListDevicesResponse> Daemon::Devices() {
  grpc::ClientContext context;
  v1::ListDevicesResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      Explain(stubs().devices.ListDevices(&context, {}, &response)));
  return response;
}

absl::StatusOr<v1::DescribeDeviceResponse> Daemon::DescribeDevice(
    uint32_t ordinal) {
  grpc::ClientContext context;
  v1::DescribeDeviceRequest request;
  request.set_ordinal(ordinal);
  v1::DescribeDeviceResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      Explain(stubs().devices.DescribeDevice(&context, request, &response)));
  return response;
}

absl::StatusOr<v1::ListSessionsResponse> Daemon::ListSessions() {
  grpc::ClientContext context;
  v1::ListSessionsResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      Explain(stubs().sessions.ListSessions(&context, {}, &response)));
  return response;
}

absl::StatusOr<std::vector<v1::SessionInfo>> Daemon::Sessions() {
  HOLDFAST_ASSIGN_OR_RETURN(const auto response, ListSessions());
  return std::vector<v1::SessionInfo>(response.sessions().begin(),
                                      response.sessions().end());
}

absl::StatusOr<v1::GetCacheStatisticsResponse> Daemon::CacheStatistics() {
  grpc::ClientContext context;
  v1::GetCacheStatisticsResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      Explain(stubs().admin.GetCacheStatistics(&context, {}, &response)));
  return response;
}

absl::StatusOr<v1::ListCacheEntriesResponse> Daemon::CacheEntries(
    uint32_t max_entries) {
  grpc::ClientContext context;
  v1::ListCacheEntriesRequest request;
  request.set_max_entries(max_entries);
  v1::ListCacheEntriesResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      Explain(stubs().admin.ListCacheEntries(&context, request, &response)));
  return response;
}

absl::StatusOr<v1::ClearCacheResponse> Daemon::ClearCache() {
  grpc::ClientContext context;
  v1::ClearCacheResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      Explain(stubs().admin.ClearCache(&context, {}, &response)));
  return response;
}

absl::Status Daemon::Explain(const grpc::Status& status) const {
  HOLDFAST_RETURN_IF_ERROR(CheckNotForked());
  const bool connection_broke =
      status.error_code() == grpc::StatusCode::UNAVAILABLE &&
      status.error_details().empty() &&
      channel_->GetState(false) != GRPC_CHANNEL_READY;
  if (!connection_broke) return ToStatus(status);
  return absl::UnavailableError(
      absl::StrCat("the daemon at ", address_.text,
                   " does not answer: ", status.error_message()));
}

}  // namespace holdfast
