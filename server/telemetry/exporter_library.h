// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_EXPORTER_LIBRARY_H_
#define HOLDFAST_SERVER_TELEMETRY_EXPORTER_LIBRARY_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/telemetry/exporter/exporter.h"
#include "server/telemetry/metric.h"

namespace holdfast {

// Loads and calls libholdfast_metrics.so, with C++ types; see
// exporter/exporter.h. The library stays loaded until the process ends.
class ExporterLibrary {
 public:
  struct Request {
    std::string path;           // "/metrics"
    std::string host;           // empty: the header is absent
    std::string authorization;  // empty: the header is absent
  };
  struct Response {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string headers;  // more lines, each ending in "\r\n"
    std::string body;
  };
  // Returns the answer to a request. Several threads call it at a time.
  using Answer = std::function<Response(const Request&)>;

  // Serves requests until the destructor is called.
  class Server {
   public:
    virtual ~Server() = default;
    virtual int port() const = 0;
  };

  // Loads the library from $HOLDFAST_METRICS_LIBRARY, else from a directory
  // relative to the program's directory: ".", ../lib, ../lib/holdfast or
  // telemetry. UNAVAILABLE: the library or one of its dependencies is missing,
  // or the library is of another version of Holdfast; the message names each
  // file.
  static absl::StatusOr<ExporterLibrary> Load();

  // Starts a server on `address`, such as "127.0.0.1:9464" or "[::1]:0". A
  // client that takes longer than `timeout` to send its request, or to read the
  // answer, loses its connection. UNAVAILABLE: the address cannot be used.
  absl::StatusOr<std::unique_ptr<Server>> Serve(const std::string& address,
                                                absl::Duration timeout,
                                                Answer answer) const;

  // Returns the families in Prometheus' text format.
  std::string Text(const MetricFamilies& families) const;

 private:
  explicit ExporterLibrary(const HoldfastExporter& exporter)
      : exporter_(&exporter) {}

  const HoldfastExporter* exporter_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_EXPORTER_LIBRARY_H_
