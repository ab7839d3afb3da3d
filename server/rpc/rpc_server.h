// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_RPC_SERVER_H_
#define HOLDFAST_SERVER_RPC_RPC_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/server_interceptor.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/restart/descriptor_store.h"
#include "server/rpc/connection_monitor.h"
#include "server/rpc/credentials.h"
#include "server/rpc/endpoint.h"
#include "server/rpc/kept_sockets.h"
#include "server/rpc/peer_table.h"
#include "server/rpc/tcp_listener.h"
#include "server/rpc/unix_listener.h"
#include "server/service_manager/inherited_sockets.h"

namespace holdfast {

// The daemon's public gRPC server: its services, health and reflection, on
// Unix sockets and TCP.
class RpcServer {
 public:
  // Bytes of one message; a compile request with its headers is the largest. A
  // larger message ends its call with RESOURCE_EXHAUSTED.
  static constexpr int kMaxMessageBytes = 48 << 20;

  // The flags of the daemon that are about its sockets.
  struct Options {
    std::vector<Endpoint> endpoints;
    mode_t socket_mode = 0600;
    // Paths among `endpoints` that are for the daemon's own user, whatever the
    // mode of the others. If there are any, users are operators there alone.
    std::set<std::string> operator_sockets;
    // May be reloaded while the server runs.
    std::shared_ptr<TlsCertificates> tls;  // null: TCP is plain
    bool insecure = false;
    // Whether whoever connects may ask for the protocol, and not those alone
    // that a service then serves.
    bool reflection = true;
    // Over TCP and Unix sockets together.
    size_t max_connections = 4096;
    // Served instead of sockets of our own at the same paths, and beside
    // `endpoints` at others.
    InheritedSockets inherited;
    // Sockets of the daemon before this one, and where ours are kept for the
    // next one; the store outlives the server.
    KeptSockets left;
    DescriptorStore* store = nullptr;
    // Sees each call, if there is one.
    std::function<std::unique_ptr<
        grpc::experimental::ServerInterceptorFactoryInterface>()>
        make_interceptors;
  };

  struct NamedService {
    std::string name;  // "holdfast.v1.SessionService"
    grpc::Service* service;
  };

  // Accepts calls when it returns. The services and `peers` must outlive the
  // server.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      Options options, const std::vector<NamedService>& services,
      PeerTable& peers);

  // Takes no new connections; calls that are still open at the deadline are
  // cancelled. Returns when no call is left. Removes the files of sockets that
  // are its own. May be called again.
  void Shutdown(absl::Time deadline);

  ~RpcServer() { Shutdown(absl::InfinitePast()); }

  // Where it listens, with the ports that were chosen for port 0.
  const std::vector<Endpoint>& endpoints() const { return endpoints_; }

  // Open connections, and those that were refused since the start. For metrics;
  // refused ones were refused by the ConnectionMonitor.
  size_t connections() const { return monitor_->connections(); }
  uint64_t refused_connections() const { return refused_connections_; }

  // The answer of grpc.health.v1, for the server and each of its services:
  // SERVING or NOT_SERVING.
  void SetHealth(bool serving);
  // The same for another name that is asked for. For devices, whose health is
  // asked for by a name of ours.
  void SetHealthOf(const std::string& name, bool serving);

 private:
  // How the connections of one TCP endpoint get to gRPC. The listener accepts,
  // and hands the connection's descriptor over.
  struct TcpEntrance {
    std::unique_ptr<TcpListener> listener;
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> grpc;
  };

  RpcServer() = default;
  // Opens the sockets of `endpoints_`.
  absl::Status Listen(Options& options, grpc::ServerBuilder* builder);
  // REQUIRES: the server has been built.
  void StartAccepting(const Options& options, PeerTable& peers);
  // Keeps a copy of the socket for the next daemon. Null: does nothing.
  void Keep(DescriptorStore* store, const char* kind, int socket);
  // Asks the monitor, and counts what it refuses.
  bool Admit(int fd, const std::string& peer, const std::string& client);

  std::vector<Endpoint> endpoints_;
  std::vector<std::string> service_names_;
  std::unique_ptr<grpc::Server> server_;
  // Below the server, whose connections it watches until they have ended.
  std::unique_ptr<ConnectionMonitor> monitor_;
  std::atomic<uint64_t> refused_connections_{0};
  std::vector<DescriptorStore::Kept> kept_;
  std::vector<std::unique_ptr<UnixListener>> unix_;
  std::vector<TcpEntrance> tcp_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_RPC_SERVER_H_
