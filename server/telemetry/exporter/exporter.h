// SPDX-License-Identifier: Apache-2.0
//
// C interface of libholdfast_metrics.so: an HTTP server (Boost.Beast) and
// Prometheus' text format (prometheus-cpp). Distributions have prometheus-cpp
// only as a shared library, which needs a shared C++ runtime. The daemon is
// linked statically, and loads this library with dlopen only if it must serve
// metrics. Only C types cross this interface, because each side has its own C++
// runtime.
//
//   const HoldfastExporter* exporter = holdfastExporter();
//   void* server = exporter->start(&options, error, sizeof error);
//   ...
//   exporter->stop(server);
#ifndef HOLDFAST_SERVER_TELEMETRY_EXPORTER_EXPORTER_H_
#define HOLDFAST_SERVER_TELEMETRY_EXPORTER_EXPORTER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this interface. It changes with every change of this file.
#define HOLDFAST_EXPORTER_VERSION 2

// The parts of a request, valid until `answer` returns. An absent header is
// null.
struct HoldfastHttpRequest {
  const char* path;  // as sent, without the query: "/metrics"
  const char* host;
  const char* authorization;
};

// Strings are borrowed until `send` returns.
struct HoldfastHttpResponse {
  int status;
  const char* content_type;
  const char* headers;  // further headers, each line ending in "\r\n"; or ""
  const char* body;
  size_t body_size;
};

struct HoldfastHttpOptions {
  const char* address;  // "127.0.0.1:9464", "[::1]:0"
  void* context;
  // Answers one GET or HEAD request by calling `send` once, before it returns.
  // Several threads call it at a time. Not called for other methods.
  void (*answer)(void* context, const struct HoldfastHttpRequest* request,
                 void (*send)(void* connection,
                              const struct HoldfastHttpResponse* response),
                 void* connection);
  int timeout_ms;         // limit for receiving a request, sending an answer
  int threads;            // the most calls of `answer` at once
  int connections;        // the most at once; beyond, the oldest is closed
  int max_request_bytes;  // limit of a request's line and headers
};

struct HoldfastLabel {
  const char* name;
  const char* value;
};

struct HoldfastBucket {
  double upper_bound;
  uint64_t cumulative_count;
};

struct HoldfastSample {
  const struct HoldfastLabel* labels;
  size_t label_count;
  double value;  // the sum of a histogram
  // Only histograms have the other members.
  uint64_t count;
  const struct HoldfastBucket* buckets;  // without the bucket of infinity
  size_t bucket_count;
};

enum HoldfastMetricType {
  HOLDFAST_COUNTER = 0,
  HOLDFAST_GAUGE = 1,
  HOLDFAST_HISTOGRAM = 2,
};

struct HoldfastFamily {
  const char* name;
  const char* help;
  int type;  // HoldfastMetricType
  const struct HoldfastSample* samples;
  size_t sample_count;
};

struct HoldfastExporter {
  uint32_t version;
  // Starts a server. Returns it, for `stop`; or null, with the reason in
  // `error`, which has room for `error_size` bytes.
  void* (*start)(const struct HoldfastHttpOptions* options, char* error,
                 size_t error_size);
  // Returns the port on which the server listens.
  int (*port)(const void* server);
  // Ends and frees the server. Blocks until no call of `answer` runs any more.
  void (*stop)(void* server);
  // Calls `write` once with the families in Prometheus' text format.
  void (*write_text)(const struct HoldfastFamily* families, size_t count,
                     void (*write)(void* sink, const char* text, size_t size),
                     void* sink);
};

const struct HoldfastExporter* holdfastExporter(void);

#ifdef __cplusplus
}
#endif

#endif  // HOLDFAST_SERVER_TELEMETRY_EXPORTER_EXPORTER_H_
