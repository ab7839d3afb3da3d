// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_DAEMON_SERVERS_H_
#define HOLDFAST_SERVER_DAEMON_SERVERS_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/config/config.h"
#include "server/config/stop_events.h"
#include "server/daemon/parts.h"
#include "server/health/health.h"
#include "server/restart/inheritance.h"
#include "server/rpc/rpc_server.h"
#include "server/services/descriptor_server.h"
#include "server/telemetry/call_metrics.h"
#include "server/telemetry/daemon_metrics.h"
#include "server/telemetry/metric_sources.h"
#include "server/telemetry/metrics_server.h"
#include "server/telemetry/status_report.h"

namespace holdfast::server {

// The addresses that the daemon listens on, and the service behind each:
//
//   --listen, systemd's sockets    gRPC: the eight services of the protocol,
//                                  health, reflection
//   RUNTIME/exports.fds            descriptors of exports, for processes
//                                  outside Holdfast
//   --metrics-address              HTTP: metrics and the status page
//
// The executors' own sockets belong to the sessions (SessionRegistry).
class DaemonServers {
 public:
  // Does not listen yet. `events` gets an upgrade event when a client's call
  // has requested an upgrade. All arguments must outlive this object.
  DaemonServers(const Config& config, StopEvents& events, DaemonParts& parts);
  ~DaemonServers();

  // Serves the descriptors of exports. Must be called before the sessions of
  // the earlier daemon are restored, because their exports name the address.
  absl::Status ServeDescriptors();

  // Serves all other addresses, and the sockets of `inheritance`, which it
  // takes. Calls are accepted when it returns. Must be called after the
  // sessions are restored: earlier, calls of their clients would fail with
  // NOT_FOUND.
  absl::Status Serve(Inheritance* inheritance);

  // Sets the answers of grpc.health.v1 for the daemon, its services, and each
  // device ("holdfast.device.0"). REQUIRES: Serve has succeeded.
  void SetHealth(const Health::View& view);

  // Returns the addresses of gRPC and HTTP, separated by spaces. Port 0 is
  // replaced by the port that the system has chosen. REQUIRES: Serve has
  // succeeded.
  std::string addresses() const;

  // Ends HTTP, and accepts no more connections. Blocks until all calls have
  // ended; cancels calls that still run after 200 ms. REQUIRES: Serve has
  // succeeded.
  void Shutdown();

 private:
  // The services of the protocol.
  struct Services;

  RpcServer::Options RpcOptions(Inheritance* inheritance);
  MetricSources Sources();
  absl::Status ServeMetrics();

  const Config& config_;
  DaemonParts& parts_;
  std::unique_ptr<DescriptorServer> descriptors_;
  const std::unique_ptr<Services> services_;
  CallMetrics calls_;
  std::unique_ptr<RpcServer> rpc_server_;
  const MetricSources sources_;
  DaemonMetrics metrics_;
  StatusReport status_;
  // Why the daemon is not ready, for HTTP probes; "" if it is.
  std::atomic<const char*> obstacle_ = "the daemon is starting";
  std::unique_ptr<MetricsServer> metrics_server_;  // null: not configured
};

// Makes the missing directories of the Unix sockets to listen on. Fails as
// MakePrivateDirectory.
absl::Status MakeSocketDirectories(const Config& config);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_SERVERS_H_
