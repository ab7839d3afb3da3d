// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_EXPORTER_HTTP_SERVER_H_
#define HOLDFAST_SERVER_TELEMETRY_EXPORTER_HTTP_SERVER_H_

#include <memory>
#include <string>

#include "server/telemetry/exporter/exporter.h"

struct mg_connection;
struct mg_context;

namespace holdfast::exporter {

// Answers GET requests on one address, one request a connection. Bounded by
// HoldfastHttpOptions; it serves no files. Thread-safe.
class HttpServer {
 public:
  // Accepts connections when it returns; null: `error` says why.
  static std::unique_ptr<HttpServer> Start(const HoldfastHttpOptions& options,
                                           std::string* error);
  ~HttpServer();

  int port() const { return port_; }

 private:
  explicit HttpServer(const HoldfastHttpOptions& options)
      : context_(options.context),
        answer_(options.answer),
        address_(options.address) {}

  static int OnRequest(mg_connection* connection);
  int Answer(mg_connection* connection) const;

  void* const context_;
  decltype(HoldfastHttpOptions::answer) const answer_;
  const std::string address_;
  mg_context* server_ = nullptr;
  int port_ = 0;
};

}  // namespace holdfast::exporter

#endif  // HOLDFAST_SERVER_TELEMETRY_EXPORTER_HTTP_SERVER_H_
