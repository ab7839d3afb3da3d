// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/rpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "proto/transport.h"
#include "server/rpc/malformed_request.h"

namespace holdfast {
namespace {

constexpr int kMaxThreads = 256;
constexpr size_t kMaxMemory = size_t{1} << 30;
constexpr int kMaxMetadataBytes = 64 << 10;

// A TCP client that is gone without a word is noticed within a minute.
constexpr int kPingAfterMs = 30'000;
constexpr int kPingTimeoutMs = 20'000;
constexpr int kShortestClientPingMs = 10'000;

void SetLimits(grpc::ServerBuilder* builder) {
  grpc::ResourceQuota quota("holdfastd");
  quota.SetMaxThreads(kMaxThreads).Resize(kMaxMemory);
  builder->SetResourceQuota(quota);
  builder->SetMaxReceiveMessageSize(RpcServer::kMaxMessageBytes);
  builder->SetMaxSendMessageSize(RpcServer::kMaxMessageBytes);
  for (const auto& [name, value] : kTransportArguments) {
    builder->AddChannelArgument(name, value);
  }
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingAfterMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kShortestClientPingMs);
  // A second daemon on the port must fail, not share it.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

std::string GrpcAddress(const Endpoint& endpoint) {
  return endpoint.ToString().substr(sizeof("tcp:") - 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const Options& options, const std::vector<NamedService>& services,
    PeerTable& peers) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  std::unique_ptr<RpcServer> server(new RpcServer);
  grpc::ServerBuilder builder;
  SetLimits(&builder);
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      interceptors;
  interceptors.push_back(std::make_unique<MalformedRequestFactory>());
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  for (const auto& [name, service] : services) {
    builder.RegisterService(service);
    server->service_names_.push_back(name);
  }
  std::deque<int> ports;
  HOLDFAST_RETURN_IF_ERROR(server->Listen(options, &builder, &ports));
  server->server_ = builder.BuildAndStart();
  HOLDFAST_RETURN_IF_ERROR(server->CheckPorts(ports));
  for (const auto& listener : server->listeners_) {
    listener->Start([grpc = server->server_.get(), &peers](UniqueFd fd) {
      peers.Add(fd.get());
      grpc::AddInsecureChannelFromFd(grpc, fd.Release());
    });
  }
  return server;
}

absl::Status RpcServer::Listen(const Options& options,
                               grpc::ServerBuilder* builder,
                               std::deque<int>* ports) {
  endpoints_ = options.endpoints;
  for (const Endpoint& endpoint : endpoints_) {
    int& port = ports->emplace_back(0);
    if (endpoint.kind == Endpoint::Kind::kUnix) {
      HOLDFAST_ASSIGN_OR_RETURN(
          auto listener,
          UnixListener::Listen(endpoint.path, options.socket_mode));
      listeners_.push_back(std::move(listener));
      continue;
    }
    HOLDFAST_ASSIGN_OR_RETURN(
        auto credentials,
        MakeTcpCredentials(endpoint, options.tls, options.insecure));
    builder->AddListeningPort(GrpcAddress(endpoint), credentials, &port);
  }
  return absl::OkStatus();
}

absl::Status RpcServer::CheckPorts(const std::deque<int>& ports) {
  for (size_t i = 0; i < ports.size(); ++i) {
    if (endpoints_[i].kind != Endpoint::Kind::kTcp) continue;
    if (server_ == nullptr || ports[i] == 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen on ", endpoints_[i].ToString(),
                       ": the address is in use or not of this machine, or the "
                       "certificate and key do not fit"));
    }
    endpoints_[i].port = static_cast<uint16_t>(ports[i]);
  }
  if (server_ == nullptr) {
    return absl::InternalError("the gRPC server could not be built");
  }
  return absl::OkStatus();
}

void RpcServer::Shutdown(absl::Time deadline) {
  listeners_.clear();
  if (server_ == nullptr) return;
  server_->Shutdown(absl::ToChronoTime(std::max(deadline, absl::UnixEpoch())));
  server_->Wait();
  server_ = nullptr;
}

void RpcServer::SetHealth(bool serving) {
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  health->SetServingStatus(serving);
  for (const std::string& name : service_names_) {
    health->SetServingStatus(name, serving);
  }
}

}  // namespace holdfast
