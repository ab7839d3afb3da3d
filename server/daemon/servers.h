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
//   RUNTIME/exports.fds            descriptors of exported memory, for
//   processes
//                                  outside Holdfast
//   --metrics-address              HTTP: metrics and the status page
//
// Executors' own sockets are the sessions' (SessionRegistry).
class DaemonServers {
 public:
  // Listens on nothing yet. All arguments must outlive the object. `events` is
  // told that a client has asked for an upgrade.
  DaemonServers(const Config& config, StopEvents& events, DaemonParts& parts);
  ~DaemonServers();

  // Serves descriptors of exports. To be called before sessions of the daemon
  // before are restored, whose exports name the address.
  absl::Status ServeDescriptors();

  // Serves all else; accepts calls when it returns. To be called once sessions
  // are restored, or their clients would be told that there are none. Sockets
  // of `inheritance` are served as well as what the configuration says.
  absl::Status Serve(Inheritance* inheritance);

  // Answers grpc.health.v1 so from now on: for the daemon, its services, and
  // each device ("holdfast.device.0"). REQUIRES: Serve has succeeded.
  void SetHealth(const Health::View& view);

  // Returns the addresses of gRPC and HTTP, with the ports that were chosen for
  // port 0, separated by spaces. REQUIRES: Serve has succeeded.
  std::string addresses() const;

  // Ends HTTP and takes no more connections; calls that are still open are
  // cancelled after a moment. REQUIRES: Serve has succeeded.
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
  std::atomic<bool> serving_ = false;              // the health, for probes
  std::unique_ptr<MetricsServer> metrics_server_;  // if it is asked for
};

// Makes the directory of each Unix socket that is to be listened on, if it is
// missing.
absl::Status MakeSocketDirectories(const Config& config);

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_SERVERS_H_
