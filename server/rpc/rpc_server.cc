// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/rpc_server.h"

#include <arpa/inet.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status_macros.h"
#include "proto/transport.h"
#include "server/identity/identity.h"
#include "server/rpc/connection_limits.h"
#include "server/rpc/malformed_request.h"

namespace holdfast {
namespace {

// For reflection, whose streams hold a thread each. The daemon's own services
// hold none of gRPC's threads.
constexpr int kMaxThreads = 16;
// Bytes that are read and parsed at once: the frames of a flood that are not
// looked at before they have taken memory.
constexpr int kMaxReadBytes = 512 << 10;
constexpr int kMaxMetadataBytes = 64 << 10;

constexpr int kShortestClientPingMs = 10'000;

void SetLimits(grpc::ServerBuilder* builder) {
  grpc::ResourceQuota quota("holdfastd");
  quota.SetMaxThreads(kMaxThreads).Resize(kMaxConnectionBytes);
  builder->SetResourceQuota(quota);
  builder->SetMaxReceiveMessageSize(RpcServer::kMaxMessageBytes);
  builder->SetMaxSendMessageSize(RpcServer::kMaxMessageBytes);
  for (const auto& [name, value] : kTransportArguments) {
    builder->AddChannelArgument(name, value);
  }
  builder->AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              kMaxConcurrentStreams);
  builder->AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMaxReadBytes);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                              kHandshakeMs);
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kShortestClientPingMs);
}

// Takes reflection out, which every server of the process has otherwise.
class WithoutReflection final : public grpc::ServerBuilderOption {
 public:
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>*
                         plugins) override {
    std::erase_if(*plugins, [](const auto& plugin) {
      return plugin->name() == "proto_server_reflection";
    });
  }
};

// As grpc::ServerContext::peer() names it: "ipv4:10.0.0.7:50122".
std::string PeerName(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  char host[INET6_ADDRSTRLEN] = {};
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return "";
  }
  if (address.ss_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<sockaddr_in&>(address);
    inet_ntop(AF_INET, &ipv4.sin_addr, host, sizeof host);
    return absl::StrCat("ipv4:", host, ":", ntohs(ipv4.sin_port));
  }
  const auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr)) {
    inet_ntop(AF_INET, &ipv6.sin6_addr.s6_addr[12], host, sizeof host);
    return absl::StrCat("ipv4:", host, ":", ntohs(ipv6.sin6_port));
  }
  inet_ntop(AF_INET6, &ipv6.sin6_addr, host, sizeof host);
  return absl::StrCat(
      "ipv6:%5B", host,
      ipv6.sin6_scope_id == 0 ? "" : absl::StrCat("%25", ipv6.sin6_scope_id),
      "%5D:", ntohs(ipv6.sin6_port));
}

// The service manager's socket where there is one, else that of the daemon
// before this one, else one of our own.
absl::StatusOr<std::unique_ptr<UnixListener>> ListenerAt(
    const std::string& path, mode_t mode, InheritedSockets& inherited,
    KeptSockets& left) {
  const auto found = inherited.find(path);
  if (found != inherited.end()) {
    return UnixListener::Adopt(path, std::move(found->second), mode);
  }
  UniqueFd old = left.TakeUnix(path);
  if (old.valid()) return UnixListener::TakeOver(path, std::move(old));
  return UnixListener::Listen(path, mode);
}

// A socket that nobody serves would let its clients wait for ever.
void AddInherited(const InheritedSockets& inherited,
                  std::vector<Endpoint>* endpoints) {
  for (const auto& [path, socket] : inherited) {
    const bool named =
        std::any_of(endpoints->begin(), endpoints->end(),
                    [&path = path](const Endpoint& endpoint) {
                      return endpoint.kind == Endpoint::Kind::kUnix &&
                             endpoint.path == path;
                    });
    if (!named) endpoints->push_back({.path = path});
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    Options options, const std::vector<NamedService>& services,
    PeerTable& peers) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  std::unique_ptr<RpcServer> server(new RpcServer);
  grpc::ServerBuilder builder;
  SetLimits(&builder);
  if (!options.reflection) {
    builder.SetOption(std::make_unique<WithoutReflection>());
  }
  std::vector<
      std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
      interceptors;
  interceptors.push_back(std::make_unique<MalformedRequestFactory>());
  if (options.make_interceptors) {
    interceptors.push_back(options.make_interceptors());
  }
  builder.experimental().SetInterceptorCreators(std::move(interceptors));
  for (const auto& [name, service] : services) {
    builder.RegisterService(service);
    server->service_names_.push_back(name);
  }
  server->monitor_ = std::make_unique<ConnectionMonitor>(
      ConnectionMonitor::Options{.max_connections = options.max_connections});
  HOLDFAST_RETURN_IF_ERROR(server->Listen(options, &builder));
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    return absl::UnavailableError(
        "the gRPC server could not be built: if TLS was asked for, the "
        "certificate and key do not fit");
  }
  server->StartAccepting(options, peers);
  return server;
}

absl::Status RpcServer::Listen(Options& options, grpc::ServerBuilder* builder) {
  using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  endpoints_ = options.endpoints;
  AddInherited(options.inherited, &endpoints_);
  for (Endpoint& endpoint : endpoints_) {
    if (endpoint.kind == Endpoint::Kind::kUnix) {
      const mode_t mode = options.operator_sockets.count(endpoint.path) > 0
                              ? options.socket_mode & 0700
                              : options.socket_mode;
      HOLDFAST_ASSIGN_OR_RETURN(
          auto listener,
          ListenerAt(endpoint.path, mode, options.inherited, options.left));
      Keep(options, listener->owns_file() ? "listener" : "given",
           listener->descriptor());
      unix_.push_back(std::move(listener));
      continue;
    }
    HOLDFAST_ASSIGN_OR_RETURN(
        auto credentials,
        MakeTcpCredentials(endpoint, options.tls, options.insecure));
    TcpEntrance& entrance = tcp_.emplace_back();
    HOLDFAST_ASSIGN_OR_RETURN(entrance.listener,
                              TcpListener::Listen(endpoint, &options.left));
    for (const UniqueFd& socket : entrance.listener->sockets()) {
      Keep(options, "listener", socket.get());
    }
    endpoint.port = entrance.listener->port();
    entrance.grpc = builder->experimental().AddExternalConnectionAcceptor(
        Type::FROM_FD, credentials);
  }
  return absl::OkStatus();
}

void RpcServer::Keep(Options& options, const char* kind, int socket) {
  if (options.store == nullptr) return;
  kept_.push_back(
      options.store->Keep(options.left.NameOf(socket, kind), socket));
}

bool RpcServer::Admit(int fd, const std::string& peer,
                      const std::string& client) {
  if (monitor_->Admit(fd, peer, client)) return true;
  refused_connections_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void RpcServer::StartAccepting(const Options& options, PeerTable& peers) {
  for (const auto& listener : unix_) {
    const bool may_operate =
        options.operator_sockets.empty() ||
        options.operator_sockets.count(listener->path()) > 0;
    listener->Start([this, &peers, may_operate](UniqueFd fd) {
      const std::string client = peers.Add(fd.get(), may_operate);
      if (!Admit(fd.get(), absl::StrCat("fd:", fd.get()), client)) {
        return;
      }
      grpc::AddInsecureChannelFromFd(server_.get(), fd.Release());
    });
  }
  for (TcpEntrance& entrance : tcp_) {
    entrance.listener->Start([this, &peers,
                              acceptor = entrance.grpc.get()](UniqueFd fd) {
      const std::string peer = PeerName(fd.get());
      if (peer.empty() ||
          !Admit(fd.get(), peer, NameOf(peers.IdentityOfPeer(peer)))) {
        return;
      }
      grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
          connection;
      connection.listener_fd = -1;
      connection.fd = fd.Release();
      acceptor->HandleNewConnection(&connection);
    });
  }
}

void RpcServer::Shutdown(absl::Time deadline) {
  kept_.clear();
  unix_.clear();
  for (TcpEntrance& entrance : tcp_) entrance.listener = nullptr;
  if (server_ == nullptr) return;
  server_->Shutdown(absl::ToChronoTime(std::max(deadline, absl::UnixEpoch())));
  server_->Wait();
  tcp_.clear();
  server_ = nullptr;
}

void RpcServer::SetHealth(bool serving) {
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  health->SetServingStatus(serving);
  for (const std::string& name : service_names_) {
    health->SetServingStatus(name, serving);
  }
}

void RpcServer::SetHealthOf(const std::string& name, bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(name, serving);
}

}  // namespace holdfast
