// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/call_metrics.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/steady_time.h"
#include "server/telemetry/metric_values.h"

namespace holdfast {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

constexpr const char* kCodeNames[] = {"OK",
                                      "CANCELLED",
                                      "UNKNOWN",
                                      "INVALID_ARGUMENT",
                                      "DEADLINE_EXCEEDED",
                                      "NOT_FOUND",
                                      "ALREADY_EXISTS",
                                      "PERMISSION_DENIED",
                                      "RESOURCE_EXHAUSTED",
                                      "FAILED_PRECONDITION",
                                      "ABORTED",
                                      "OUT_OF_RANGE",
                                      "UNIMPLEMENTED",
                                      "INTERNAL",
                                      "UNAVAILABLE",
                                      "DATA_LOSS",
                                      "UNAUTHENTICATED",
                                      "OTHER"};

// "SessionService/OpenSession"; other packages keep their names.
std::string Label(absl::string_view method) {
  absl::ConsumePrefix(&method, "/");
  absl::ConsumePrefix(&method, "holdfast.v1.");
  return std::string(method);
}

}  // namespace

// Lives as long as its call.
class CallMetrics::Call final : public grpc::experimental::Interceptor {
 public:
  explicit Call(Method& method) : method_(method), started_(SteadyNow()) {
    method_.running.fetch_add(1, std::memory_order_relaxed);
  }
  // A call that its client gave up may end without a status being sent.
  ~Call() override { End(grpc::StatusCode::CANCELLED); }

  void Intercept(InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_STATUS)) {
      End(batch->GetSendStatus().error_code());
    }
    batch->Proceed();
  }

 private:
  // The first one counts. gRPC closes a cancelled call by one thread while
  // another one answers it.
  void End(grpc::StatusCode code) {
    if (ended_.exchange(true)) return;
    const auto index = std::min(static_cast<size_t>(code), kCodes - 1);
    method_.ended[index].fetch_add(1, std::memory_order_relaxed);
    method_.latency.Observe(SteadyNow() - started_);
    method_.running.fetch_sub(1, std::memory_order_relaxed);
  }

  Method& method_;
  const absl::Time started_;
  std::atomic<bool> ended_ = false;
};

class CallMetrics::Factory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(CallMetrics& metrics) : metrics_(metrics) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      ServerRpcInfo* info) override {
    const bool one_request =
        info->type() == ServerRpcInfo::Type::UNARY ||
        info->type() == ServerRpcInfo::Type::SERVER_STREAMING;
    if (!one_request) return nullptr;
    return new Call(metrics_.MethodOf(info->method()));  // gRPC deletes it
  }

 private:
  CallMetrics& metrics_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
CallMetrics::MakeInterceptors() {
  return std::make_unique<Factory>(*this);
}

CallMetrics::Method& CallMetrics::MethodOf(const char* name) {
  absl::MutexLock lock(&mutex_);
  return methods_[name];
}

uint64_t CallMetrics::refused() const {
  uint64_t sum = 0;
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, method] : methods_) {
    sum += method.ended[grpc::StatusCode::RESOURCE_EXHAUSTED];
  }
  return sum;
}

void CallMetrics::Collect(MetricFamilies* families) const {
  absl::MutexLock lock(&mutex_);
  MetricFamily& calls = families->AddCounter(
      "holdfast_rpc_calls_total",
      "Calls with one request that have ended, by method and gRPC status.");
  for (const auto& [name, method] : methods_) {
    for (size_t code = 0; code < kCodes; ++code) {
      const uint64_t ended = method.ended[code];
      if (ended == 0) continue;
      calls.Add(static_cast<double>(ended),
                {{"method", Label(name)}, {"code", kCodeNames[code]}});
    }
  }
  MetricFamily& running = families->AddGauge(
      "holdfast_rpc_calls_running", "Calls with one request that run now.");
  for (const auto& [name, method] : methods_) {
    running.Add(static_cast<double>(method.running.load()),
                {{"method", Label(name)}});
  }
  MetricFamily& latency = families->AddHistogram(
      "holdfast_rpc_duration_seconds",
      "Time from a call's arrival to its status, by method.");
  for (const auto& [name, method] : methods_) {
    if (method.latency.empty()) continue;
    latency.samples.push_back(
        SampleOf(method.latency, {{"method", Label(name)}}));
  }
}

}  // namespace holdfast
