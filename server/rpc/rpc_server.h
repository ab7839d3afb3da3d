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
#include "server/identity/peer_table.h"
#include "server/kept/descriptor_store.h"
#include "server/rpc/connection_monitor.h"
#include "server/rpc/credentials.h"
#include "server/rpc/endpoint.h"
#include "server/rpc/kept_sockets.h"
#include "server/rpc/tcp_listener.h"
#include "server/rpc/unix_listener.h"
#include "server/service_manager/inherited_sockets.h"

namespace holdfast {

// The daemon's public gRPC server: its services, health and reflection, on
// Unix sockets and TCP.
class RpcServer {
 public:
  // The limit of one message, in bytes; compile requests with headers are the
  // largest. A larger message ends its call with RESOURCE_EXHAUSTED.
  static constexpr int kMaxMessageBytes = 48 << 20;

  // The daemon's flags about its sockets.
  struct Options {
    std::vector<Endpoint> endpoints;
    mode_t socket_mode = 0600;
    // Paths among `endpoints` that are only for the daemon's own user,
    // regardless of `socket_mode`. If the set is not empty, a user is an
    // operator only at these sockets.
    std::set<std::string> operator_sockets;
    // May be reloaded while the server runs.
    std::shared_ptr<TlsCertificates> tls;  // null: TCP is plain
    bool insecure = false;
    // Serve gRPC reflection to every client that can connect, even without
    // authorisation.
    bool reflection = true;
    // The most open connections, to TCP and Unix sockets together.
    size_t max_connections = 4096;
    // Sockets to serve instead of new ones at the same paths, and in addition
    // to `endpoints` at other paths.
    InheritedSockets inherited;
    // The earlier daemon's sockets, and the store that keeps this server's
    // sockets for the next daemon; null: they are not kept. The store must
    // outlive the server.
    KeptSockets left;
    DescriptorStore* store = nullptr;
    // Makes the interceptor of every call; may be null.
    std::function<std::unique_ptr<
        grpc::experimental::ServerInterceptorFactoryInterface>()>
        make_interceptors;
  };

  struct NamedService {
    std::string name;  // "holdfast.v1.SessionService"
    grpc::Service* service;
  };

  // Starts a server, which accepts calls when this function returns. REQUIRES:
  // the services and `peers` outlive the server.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      Options options, const std::vector<NamedService>& services,
      PeerTable& peers);

  // Stops accepting connections, cancels calls that are open at the deadline,
  // and blocks until no call is left. Removes the files of its own Unix
  // sockets. A second call has no effect.
  void Shutdown(absl::Time deadline);

  ~RpcServer() { Shutdown(absl::InfinitePast()); }

  // The server's endpoints, with the actual ports instead of port 0.
  const std::vector<Endpoint>& endpoints() const { return endpoints_; }

  // Return the number of open connections, and of connections that the
  // ConnectionMonitor has refused since the start, for metrics.
  size_t connections() const { return monitor_->connections(); }
  uint64_t refused_connections() const { return refused_connections_; }

  // Sets the answer of grpc.health.v1 for the server and each of its services:
  // SERVING or NOT_SERVING.
  void SetHealth(bool serving);
  // Sets the answer for another name, such as a device's.
  void SetHealthOf(const std::string& name, bool serving);

 private:
  // The listener of a TCP endpoint, and gRPC's acceptor, to which the
  // listener's connections are passed as descriptors.
  struct TcpEntrance {
    std::unique_ptr<TcpListener> listener;
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> grpc;
  };

  RpcServer() = default;
  // Opens or takes over the sockets of `endpoints_`.
  absl::Status Listen(Options& options, grpc::ServerBuilder* builder);
  // REQUIRES: the server has been built.
  void StartAccepting(const Options& options, PeerTable& peers);
  // Keeps a copy of the socket for the next daemon. Does nothing if
  // Options::store is null.
  void Keep(Options& options, const char* kind, int socket);
  // Asks the monitor, and counts refused connections.
  bool Admit(int fd, const std::string& peer, const std::string& client);

  std::vector<Endpoint> endpoints_;
  std::vector<std::string> service_names_;
  std::unique_ptr<grpc::Server> server_;
  // Declared after the server, whose connections it watches until they end.
  std::unique_ptr<ConnectionMonitor> monitor_;
  std::atomic<uint64_t> refused_connections_{0};
  std::vector<DescriptorStore::Kept> kept_;
  std::vector<std::unique_ptr<UnixListener>> unix_;
  std::vector<TcpEntrance> tcp_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_RPC_SERVER_H_
