// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_CALL_METRICS_H_
#define HOLDFAST_SERVER_TELEMETRY_CALL_METRICS_H_

#include <grpcpp/support/server_interceptor.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/counters/duration_histogram.h"
#include "server/telemetry/metric.h"

namespace holdfast {

// Counts and times the calls of the daemon's services that have one request,
// by method and status. Calls whose client streams last as long as the client
// likes and are left out, which keeps commands free of it. Thread-safe.
class CallMetrics {
 public:
  // For a server, which the metrics must outlive.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
  MakeInterceptors();

  // Calls refused for a limit: those that ended with RESOURCE_EXHAUSTED.
  uint64_t refused() const;

  // Appends counts by method and status, and latencies by method.
  void Collect(MetricFamilies* families) const;

 private:
  class Factory;
  class Call;

  // gRPC's codes are 0 to 16; 17: others.
  static constexpr size_t kCodes = 18;

  struct Method {
    std::array<std::atomic<uint64_t>, kCodes> ended{};
    std::atomic<int64_t> running{0};
    DurationHistogram latency;
  };

  // `name` as gRPC has it: "/holdfast.v1.SessionService/OpenSession". gRPC
  // calls interceptors only for methods that are served, so there are few.
  Method& MethodOf(const char* name);

  mutable absl::Mutex mutex_;
  // Entries stay where they are.
  std::map<std::string, Method> methods_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_CALL_METRICS_H_
