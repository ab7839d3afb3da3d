// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_METRICS_SERVER_H_
#define HOLDFAST_SERVER_TELEMETRY_METRICS_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/rpc/endpoint.h"
#include "server/telemetry/exporter_library.h"
#include "server/telemetry/metric.h"

namespace holdfast {

// The daemon's HTTP endpoint for operators: /metrics is for Prometheus; / is a
// page for browsers that shows /status.json; /healthz and /readyz are for
// probes, and need no password.
//
// HTTP is not encrypted: a password keeps out other users of this machine, but
// not an attacker who reads the network. On loopback, a request must have a
// loopback host, so that a web page in an operator's browser cannot read the
// endpoint under another host name (DNS rebinding).
class MetricsServer {
 public:
  struct Options {
    Endpoint endpoint;  // TCP; its host is an address or localhost
    bool beyond_loopback = false;
    // The password of HTTP's basic authentication, with any user name. Empty:
    // no password is needed.
    std::string password;
    // Called by several threads.
    std::function<MetricFamilies()> collect;
    std::function<std::string()> status;  // JSON
    // Returns why the daemon accepts no sessions; empty: it accepts them.
    std::function<std::string()> obstacle = [] { return std::string(); };
    // The time limit for receiving a request, and for sending an answer.
    absl::Duration timeout = absl::Seconds(5);
  };

  // Checks that the endpoint may be served. FAILED_PRECONDITION: the address is
  // not loopback, and `beyond_loopback` is not set.
  static absl::Status CheckReach(const Endpoint& endpoint,
                                 bool beyond_loopback);
  // Starts to serve. FAILED_PRECONDITION: the address is not loopback and
  // `beyond_loopback` is not set. UNAVAILABLE: the library is missing, or the
  // address cannot be used.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(Options options);

  // Returns "http://127.0.0.1:9464/metrics", with the actual port instead of
  // port 0.
  std::string url() const;

 private:
  MetricsServer(Options options, ExporterLibrary library);
  ExporterLibrary::Response Answer(
      const ExporterLibrary::Request& request) const;

  const Options options_;
  const ExporterLibrary library_;
  Endpoint endpoint_;
  std::unique_ptr<ExporterLibrary::Server> server_;  // ends first
};

// Returns the first line of a file that only its owner, its group and root can
// read, as `install --group=holdfast --mode=640` makes it for the daemon's
// user. INVALID_ARGUMENT: every user can read the file, its group can write it,
// or the line is empty. PERMISSION_DENIED: this process's user cannot read it.
absl::StatusOr<std::string> ReadPassword(const std::string& path);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_METRICS_SERVER_H_
