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

// The daemon's HTTP endpoint for operators: /metrics for Prometheus, / a page
// for browsers, which shows /status.json, and /healthz and /readyz for probes,
// which need no password.
//
// HTTP is plain: a password keeps out other users of this machine, but not
// those who can read the network. On loopback, a request has to name loopback
// as its host, so that no web page that an operator's browser shows can read
// the endpoint under a name of its own (DNS rebinding).
class MetricsServer {
 public:
  struct Options {
    Endpoint endpoint;  // TCP; its host is an address or localhost
    bool beyond_loopback = false;
    // The password of HTTP's basic authentication, with any user name. Empty:
    // none is asked for.
    std::string password;
    // Called by several threads.
    std::function<MetricFamilies()> collect;
    std::function<std::string()> status;  // JSON
    // Whether the daemon takes sessions.
    std::function<bool()> ready = [] { return true; };
    // To receive a request, and to send an answer.
    absl::Duration timeout = absl::Seconds(5);
  };

  // Serves when it returns. FAILED_PRECONDITION: the address is not loopback
  // and `beyond_loopback` is not set. UNAVAILABLE: the library is not there, or
  // the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(Options options);

  // "http://127.0.0.1:9464/metrics", with the port that was chosen for port 0.
  std::string url() const;

 private:
  MetricsServer(Options options, ExporterLibrary library);
  ExporterLibrary::Response Answer(
      const ExporterLibrary::Request& request) const;

  const Options options_;
  const ExporterLibrary library_;
  Endpoint endpoint_;
  std::unique_ptr<ExporterLibrary::Server> server_;  // goes first
};

// The first line of a file that nobody but its owner and root can read.
// INVALID_ARGUMENT: it is another file, or the line is empty.
absl::StatusOr<std::string> ReadPassword(const std::string& path);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_METRICS_SERVER_H_
