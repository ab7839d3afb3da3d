// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/bench/bench.h"
#include "client/bench/kernels.h"
#include "client/bench/workload.h"
#include "client/cpp/launch.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/objects.pb.h"

namespace holdfast::bench {
namespace {

// The kernel that is launched, and its stream.
struct Target {
  Stream stream;
  Module module;
  Kernel four;
  Kernel sixteen;
  Buffer buffer;
};

absl::StatusOr<Target> MakeTarget(Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(Stream stream, session.device(0).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(
      const ObjectCode object,
      ObjectCode::Put(session.daemon(), kEmptyKernels, v1::OBJECT_FORMAT_PTX));
  HOLDFAST_ASSIGN_OR_RETURN(Module module, session.Load(object));
  HOLDFAST_ASSIGN_OR_RETURN(Kernel four, module.GetKernel("four"));
  HOLDFAST_ASSIGN_OR_RETURN(Kernel sixteen, module.GetKernel("sixteen"));
  HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer,
                            session.device(0).Allocate(4096, stream));
  return Target{std::move(stream), std::move(module), std::move(four),
                std::move(sixteen), std::move(buffer)};
}

absl::Status LaunchFour(const Target& target) {
  return Launch(target.stream, {.grid = 1, .block = 32}, target.four,
                target.buffer, target.buffer, 1.0f, uint64_t{1});
}

absl::Status LaunchSixteen(const Target& target) {
  std::vector<Argument> arguments(16, Argument(uint64_t{1}));
  return Launch(target.stream, {.grid = 1, .block = 32}, target.sixteen,
                std::span<const Argument>(arguments));
}

// Launches a second. `batch` launches go out together; 0: the library decides.
absl::StatusOr<Summary> LaunchRate(const Target& target, int batch,
                                   absl::Status (*launch)(const Target&),
                                   bool quick) {
  const int count = LaunchesPerRound(quick);
  return RateOf(kRounds, count, [&]() -> absl::Status {
    for (int i = 1; i <= count; ++i) {
      HOLDFAST_RETURN_IF_ERROR(launch(target));
      if (batch != 0 && i % batch == 0) target.stream.session()->queue.Flush();
    }
    return target.stream.Synchronize();
  });
}

absl::Status AddRates(Bench& bench, const Target& target) {
  const auto native = bench.NativeBaseline("launch", "launch_rate");
  const auto figure = [&](std::string name) {
    return Figure{.group = "launch",
                  .name = std::move(name),
                  .unit = "/s",
                  .better = Better::kMore,
                  .baseline = native};
  };
  for (const int batch : {1, 16, 256}) {
    Figure rate = figure(absl::StrCat("batches of ", batch));
    HOLDFAST_ASSIGN_OR_RETURN(
        rate.value, LaunchRate(target, batch, LaunchFour, bench.quick()));
    bench.Add(std::move(rate));
  }
  Figure own = figure("library's own batching, 4 arguments");
  HOLDFAST_ASSIGN_OR_RETURN(own.value,
                            LaunchRate(target, 0, LaunchFour, bench.quick()));
  bench.Add(std::move(own).ReachingRatio(0.95));
  Figure sixteen = figure("library's own batching, 16 arguments");
  sixteen.baseline = bench.NativeBaseline("launch", "launch16_rate");
  HOLDFAST_ASSIGN_OR_RETURN(
      sixteen.value, LaunchRate(target, 0, LaunchSixteen, bench.quick()));
  bench.Add(std::move(sixteen));
  return absl::OkStatus();
}

absl::Status AddLatency(Bench& bench, const Target& target) {
  Figure latency{
      .group = "launch",
      .name = "launch and synchronise",
      .unit = "µs",
      .baseline = bench.NativeBaseline("launch", "launch_synchronize_us")};
  HOLDFAST_ASSIGN_OR_RETURN(
      latency.value,
      TimeEach(100, LatencySamples(bench.quick()), [&]() -> absl::Status {
        HOLDFAST_RETURN_IF_ERROR(LaunchFour(target));
        return target.stream.Synchronize();
      }));
  bench.Add(std::move(latency).ReachingSum(4));
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureLaunches(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(Session * session, bench.session());
  HOLDFAST_ASSIGN_OR_RETURN(const Target target, MakeTarget(*session));
  HOLDFAST_RETURN_IF_ERROR(AddRates(bench, target));
  return AddLatency(bench, target);
}

}  // namespace holdfast::bench
