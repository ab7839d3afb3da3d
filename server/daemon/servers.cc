// SPDX-License-Identifier: Apache-2.0
#include "server/daemon/servers.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "server/config/runtime_directory.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/endpoint.h"
#include "server/rpc/unix_socket.h"
#include "server/services/admin_service.h"
#include "server/services/collection_service.h"
#include "server/services/compile_service.h"
#include "server/services/device_service.h"
#include "server/services/forwarded_service.h"
#include "server/services/object_service.h"
#include "server/services/session_service.h"
#include "server/services/tenant_admin.h"

namespace holdfast::server {
namespace {

// For calls that are still open when every session is gone, and for idle
// connections, whose clients may not look at them.
constexpr absl::Duration kLastCalls = absl::Milliseconds(200);

// Calls of Compile that run, wait for another's program, or for the disk.
constexpr size_t kMaxSharing = 256;

// Calls that wait for an executor, the disk or a process's end. A user's
// programs that start at once are one client, which gets half of them.
constexpr size_t kMaxWaitingCalls = 1024;

bool ListsAllSessions(const Config& config) {
  return config.list_sessions == "all";
}

// A file of the protocol has one service.
const google::protobuf::ServiceDescriptor& ServiceBeside(
    const google::protobuf::Descriptor* message) {
  return *message->file()->service(0);
}

AdminService::UpgradeCalls UpgradeCallsOf(DaemonUpgrade& upgrade,
                                          StopEvents& events) {
  return {.prepare =
              [&upgrade, &events](absl::Time deadline) {
                auto version = upgrade.PrepareForCall(deadline);
                if (version.ok()) events.NotifyUpgrade();
                return version;
              },
          .answered = [&upgrade] { upgrade.NoteAnswered(); }};
}

}  // namespace

struct DaemonServers::Services {
  Services(const Config& config, StopEvents& events, DaemonParts& parts)
      : tenant_admin(parts.tenants, parts.sessions, parts.collections),
        threads(kMaxWaitingCalls),
        session(parts.sessions, parts.callers, threads, parts.ledger,
                parts.exports, ListsAllSessions(config)),
        device(parts.fleet.executors(), parts.memory,
               parts.fleet.device_health(), parts.fleet.telemetry(),
               parts.sessions, parts.callers, threads,
               ListsAllSessions(config)),
        compile(parts.compilation.program, parts.callers,
                config.compile_queue + kMaxSharing),
        object(parts.store, parts.callers),
        collection(parts.collections, parts.fleet.collection_suspension(),
                   parts.sessions, parts.callers, threads),
        admin(parts.sessions, parts.compilation.compilers,
              parts.compilation.cache, parts.compilation.disk_cache,
              tenant_admin, parts.callers, threads, config.suspend_directory,
              UpgradeCallsOf(parts.upgrade, events)),
        command(ServiceBeside(v1::CommandBatch::descriptor()), parts.sessions,
                ForwardedService::Traffic::kCommands, threads),
        transfer(ServiceBeside(v1::UploadRequest::descriptor()), parts.sessions,
                 ForwardedService::Traffic::kBytes, threads) {}

  std::vector<RpcServer::NamedService> Named() {
    return {{v1::SessionService::service_full_name(), &session},
            {v1::DeviceService::service_full_name(), &device},
            {v1::CompileService::service_full_name(), &compile},
            {v1::ObjectService::service_full_name(), &object},
            {v1::CollectionService::service_full_name(), &collection},
            {v1::AdminService::service_full_name(), &admin},
            {v1::CommandService::service_full_name(), &command},
            {v1::TransferService::service_full_name(), &transfer}};
  }

  TenantAdmin tenant_admin;
  CallThreads threads;
  SessionService session;
  DeviceService device;
  CompileService compile;
  ObjectService object;
  CollectionService collection;
  AdminService admin;
  ForwardedService command;
  ForwardedService transfer;
};

DaemonServers::DaemonServers(const Config& config, StopEvents& events,
                             DaemonParts& parts)
    : config_(config),
      parts_(parts),
      services_(std::make_unique<Services>(config, events, parts)),
      sources_(Sources()),
      metrics_(sources_),
      status_(sources_, ListsAllSessions(config) ||
                            !config.metrics_password_file.empty()) {}

DaemonServers::~DaemonServers() = default;

MetricSources DaemonServers::Sources() {
  return {
      .sessions = parts_.sessions,
      .executors = parts_.fleet.executors(),
      .shared_executors = parts_.fleet.shared_executors(),
      .compilers = parts_.compilation.compilers,
      .cache = parts_.compilation.cache,
      .disk_cache = parts_.compilation.disk_cache,
      .ledger = parts_.ledger,
      .memory = parts_.memory,
      .totals = parts_.totals,
      .tenants = parts_.tenants,
      .calls = calls_,
      .describe = [this](v1::Device* device) { parts_.fleet.Describe(device); },
      .connections = [this] { return rpc_server_->connections(); },
      .refused_connections =
          [this] { return rpc_server_->refused_connections(); }};
}

absl::Status DaemonServers::ServeDescriptors() {
  const std::string path = parts_.directory->path() + "/exports.fds";
  unlink(path.c_str());  // The daemon before left it.
  HOLDFAST_ASSIGN_OR_RETURN(
      UniqueFd socket,
      ListenOnUnixSocket(path, SOCK_SEQPACKET, config_.socket_mode));
  HOLDFAST_ASSIGN_OR_RETURN(
      descriptors_,
      DescriptorServer::Serve(std::move(socket), path, parts_.exports));
  parts_.exports.SetDescriptorAddress(descriptors_->address());
  return absl::OkStatus();
}

RpcServer::Options DaemonServers::RpcOptions(Inheritance* inheritance) {
  return {.endpoints = config_.listen,
          .socket_mode = config_.socket_mode,
          .operator_sockets = {config_.operator_sockets.begin(),
                               config_.operator_sockets.end()},
          .tls = parts_.tls,
          .insecure = config_.insecure,
          // Whom a policy refuses is to learn nothing but the health.
          .reflection = config_.policy.empty(),
          .max_connections = config_.max_connections,
          .inherited = std::move(inheritance->sockets),
          .left = KeptSockets(std::move(inheritance->listeners)),
          .store = &parts_.kept,
          .make_interceptors = [this] { return calls_.MakeInterceptors(); }};
}

absl::Status DaemonServers::Serve(Inheritance* inheritance) {
  HOLDFAST_ASSIGN_OR_RETURN(
      rpc_server_, RpcServer::Start(RpcOptions(inheritance), services_->Named(),
                                    parts_.peers));
  return ServeMetrics();
}

absl::Status DaemonServers::ServeMetrics() {
  if (!config_.metrics_address.has_value()) return absl::OkStatus();
  MetricsServer::Options options;
  options.endpoint = *config_.metrics_address;
  options.beyond_loopback = config_.metrics_beyond_loopback;
  if (!config_.metrics_password_file.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(options.password,
                              ReadPassword(config_.metrics_password_file));
  }
  options.collect = [this] { return metrics_.Collect(); };
  options.status = [this] { return status_.Json(); };
  options.obstacle = [this]() -> std::string {
    if (!parts_.sessions.closed()) return obstacle_.load();
    return parts_.sessions.paused()
               ? "the daemon is draining; `holdfast admin drain --stop` ends it"
               : "the daemon is stopping";
  };
  HOLDFAST_ASSIGN_OR_RETURN(metrics_server_,
                            MetricsServer::Start(std::move(options)));
  return absl::OkStatus();
}

void DaemonServers::SetHealth(const Health::View& view) {
  obstacle_ = view.obstacle;
  rpc_server_->SetHealth(view.serving);
  for (const auto& [device, serving] : view.devices) {
    rpc_server_->SetHealthOf(absl::StrCat("holdfast.device.", device), serving);
  }
}

std::string DaemonServers::addresses() const {
  std::string all =
      absl::StrJoin(rpc_server_->endpoints(), " ",
                    [](std::string* out, const Endpoint& endpoint) {
                      out->append(endpoint.ToString());
                    });
  if (metrics_server_ != nullptr) {
    absl::StrAppend(&all, " ", metrics_server_->url());
  }
  return all;
}

void DaemonServers::Shutdown() {
  metrics_server_ = nullptr;
  rpc_server_->Shutdown(absl::Now() + kLastCalls);
}

absl::Status MakeSocketDirectories(const Config& config) {
  for (const Endpoint& endpoint : config.listen) {
    if (endpoint.kind != Endpoint::Kind::kUnix) continue;
    const auto directory = std::filesystem::path(endpoint.path).parent_path();
    std::error_code error;
    if (std::filesystem::exists(directory, error)) continue;
    const auto& own = config.operator_sockets;
    const bool for_operators =
        std::find(own.begin(), own.end(), endpoint.path) != own.end();
    HOLDFAST_RETURN_IF_ERROR(MakePrivateDirectory(
        directory.string(), for_operators ? 0600 : config.socket_mode));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::server
