// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/exporter/exporter.h"

#include <cstdio>
#include <string>

#include "server/telemetry/exporter/http_server.h"
#include "server/telemetry/exporter/metrics_text.h"

namespace {

using holdfast::exporter::HttpServer;

void* Start(const HoldfastHttpOptions* options, char* error,
            size_t error_size) {
  std::string why;
  auto server = HttpServer::Start(*options, &why);
  if (server == nullptr) std::snprintf(error, error_size, "%s", why.c_str());
  return server.release();
}

int Port(const void* server) {
  return static_cast<const HttpServer*>(server)->port();
}

void Stop(void* server) { delete static_cast<HttpServer*>(server); }

void WriteText(const HoldfastFamily* families, size_t count,
               void (*write)(void* sink, const char* text, size_t size),
               void* sink) {
  const std::string text = holdfast::exporter::MetricsText(families, count);
  write(sink, text.data(), text.size());
}

constexpr HoldfastExporter kExporter = {HOLDFAST_EXPORTER_VERSION, Start, Port,
                                        Stop, WriteText};

}  // namespace

const HoldfastExporter* holdfastExporter(void) { return &kExporter; }
