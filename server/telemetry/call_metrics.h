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

// Counts and times the daemon's calls with a single request, by method and
// status. Calls with a stream of requests are left out, because the client
// determines their duration, and so that commands do not take longer.
// Thread-safe.
class CallMetrics {
 public:
  // Returns the factory of the interceptors for a server. This object must
  // outlive the server.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
  MakeInterceptors();

  // Returns the number of calls that ended with RESOURCE_EXHAUSTED.
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

  // Returns the entry of a method, which is made if there is none. `name` is
  // gRPC's: "/holdfast.v1.SessionService/OpenSession". gRPC calls interceptors
  // only for served methods, so the number of entries is bounded.
  Method& MethodOf(const char* name);

  mutable absl::Mutex mutex_;
  // A map, so that entries do not move.
  std::map<std::string, Method> methods_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_CALL_METRICS_H_
