// SPDX-License-Identifier: Apache-2.0
//
// Where the time of launch and synchronise goes: each step of the way to the
// executor and back, as the processes on it tell (v1::StepTimes).
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/bench/bench.h"
#include "client/bench/kernels.h"
#include "client/bench/workload.h"
#include "client/cpp/launch.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/commands.pb.h"
#include "holdfast/v1/objects.pb.h"

namespace holdfast::bench {
namespace {

// Microseconds of a call from its beginning to each of its steps, by name.
using Offsets = std::map<std::string, double>;

uint64_t Nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
}

// Collects the steps of one call at a time. Thread-safe.
class Trace {
 public:
  void Take(const v1::StepTimes& times) {
    absl::MutexLock lock(&mutex_);
    for (const v1::StepTimes::Step& step : times.steps()) {
      // Marked for an earlier call, and not since.
      if (step.nanoseconds() < begin_) continue;
      offsets_[step.name()] =
          1e-3 * static_cast<double>(step.nanoseconds() - begin_);
    }
  }

  void Begin() {
    absl::MutexLock lock(&mutex_);
    offsets_.clear();
    begin_ = Nanoseconds();
  }
  Offsets End() {
    absl::MutexLock lock(&mutex_);
    offsets_["client: the caller goes on"] =
        1e-3 * static_cast<double>(Nanoseconds() - begin_);
    return std::move(offsets_);
  }

 private:
  absl::Mutex mutex_;
  uint64_t begin_ ABSL_GUARDED_BY(mutex_) = 0;
  Offsets offsets_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::vector<Offsets>> TraceCalls(const std::string& address,
                                                int count) {
  Trace trace;
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = address,
                     .name = "bench",
                     .step_times = [&trace](const v1::StepTimes& times) {
                       trace.Take(times);
                     }}));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(
      const ObjectCode object,
      ObjectCode::Put(session->daemon(), kEmptyKernels, v1::OBJECT_FORMAT_PTX));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module, session->Load(object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel kernel, module.GetKernel("four"));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer, device.Allocate(256, stream));
  std::vector<Offsets> calls;
  for (int i = -50; i < count; ++i) {
    trace.Begin();
    HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = 1, .block = 32}, kernel,
                                    buffer, buffer, 1.0f, uint64_t{1}));
    HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
    Offsets offsets = trace.End();
    if (i >= 0) calls.push_back(std::move(offsets));
  }
  return calls;
}

bool HaveSameSteps(const Offsets& a, const Offsets& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const auto& x, const auto& y) { return x.first == y.first; });
}

// Only calls that were told of as many steps as any: those whose result waited
// for others have fewer. REQUIRES: not empty.
void KeepWhole(std::vector<Offsets>* calls) {
  const Offsets whole = *std::max_element(
      calls->begin(), calls->end(),
      [](const Offsets& a, const Offsets& b) { return a.size() < b.size(); });
  const auto partial = [&whole](const Offsets& call) {
    return !HaveSameSteps(call, whole);
  };
  calls->erase(std::remove_if(calls->begin(), calls->end(), partial),
               calls->end());
}

// The names in the order of the way.
std::vector<std::string> StepsOf(const std::vector<Offsets>& calls) {
  std::vector<std::pair<double, std::string>> steps;
  for (const auto& [name, unused] : calls.front()) {
    std::vector<double> offsets;
    offsets.reserve(calls.size());
    for (const Offsets& call : calls) offsets.push_back(call.at(name));
    steps.emplace_back(Summary::Of(std::move(offsets), Better::kLess).p50,
                       name);
  }
  std::sort(steps.begin(), steps.end());
  std::vector<std::string> names;
  names.reserve(steps.size());
  for (auto& [offset, name] : steps) names.push_back(std::move(name));
  return names;
}

absl::Status AddTrace(Bench& bench, const std::string& way,
                      const std::string& address) {
  HOLDFAST_ASSIGN_OR_RETURN(
      std::vector<Offsets> calls,
      TraceCalls(address, LatencySamples(bench.quick()) / 2));
  KeepWhole(&calls);
  const auto add = [&](const std::string& name, const std::string& from) {
    std::vector<double> times;
    times.reserve(calls.size());
    for (const Offsets& call : calls) {
      times.push_back(call.at(name) - (from.empty() ? 0 : call.at(from)));
    }
    bench.Add({.group = "trace",
               .name = absl::StrCat(way, ", ", name),
               .unit = "µs",
               .value = Summary::Of(std::move(times), Better::kLess)});
  };
  std::string before;
  const std::vector<std::string> names = StepsOf(calls);
  for (const std::string& name : names) {
    add(name, before);
    before = name;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureTrace(Bench& bench) {
  HOLDFAST_RETURN_IF_ERROR(AddTrace(bench, "local", bench.options().address));
  for (const auto& [way, address] :
       {std::pair("TCP", bench.options().tcp_address),
        std::pair("TLS", bench.options().tls_address)}) {
    if (address.empty()) continue;
    HOLDFAST_RETURN_IF_ERROR(AddTrace(bench, way, address));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::bench
