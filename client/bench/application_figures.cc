// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/bench/bench.h"
#include "client/bench/kernels.h"
#include "client/bench/workload.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {
namespace {

// The daemon replaces a warm executor within this time.
constexpr absl::Duration kPause = absl::Seconds(1);

struct Application {
  std::unique_ptr<Session> session;
  Kernel saxpy;
  Stream stream;
  Buffer x, y, out;
};

// Does all that comes before the data.
absl::StatusOr<Application> Prepare(Bench& bench) {
  const size_t bytes = kSaxpyN * sizeof(float);
  HOLDFAST_ASSIGN_OR_RETURN(auto session, bench.OpenSession());
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compilation,
                            Program(kSaxpySource).Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(Kernel saxpy, module.GetKernel("saxpy"));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(Buffer x, device.Allocate(bytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(Buffer y, device.Allocate(bytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(Buffer out, device.Allocate(bytes, stream));
  return Application{std::move(session), std::move(saxpy), std::move(stream),
                     std::move(x),       std::move(y),     std::move(out)};
}

absl::Status LaunchSaxpy(const Application& app) {
  return Launch(app.stream, {.grid = kSaxpyBlocks, .block = kSaxpyThreads},
                app.saxpy, kSaxpyA, app.x, app.y, app.out, uint64_t{kSaxpyN});
}

// Milliseconds from opening the session to the result in memory, without the
// time in which the data is made and the result checked.
absl::StatusOr<double> RunInOrdinaryMemory(Bench& bench) {
  const Stopwatch before_data;
  HOLDFAST_ASSIGN_OR_RETURN(const Application app, Prepare(bench));
  double milliseconds = before_data.Milliseconds();

  std::vector<float> x(kSaxpyN), y(kSaxpyN), out(kSaxpyN);
  MakeSaxpyData(x.data(), y.data());
  const Stopwatch after_data;
  HOLDFAST_RETURN_IF_ERROR(app.x.Upload(x, app.stream));
  HOLDFAST_RETURN_IF_ERROR(app.y.Upload(y, app.stream));
  HOLDFAST_RETURN_IF_ERROR(LaunchSaxpy(app));
  HOLDFAST_RETURN_IF_ERROR(app.out.Download(out, app.stream));
  milliseconds += after_data.Milliseconds();
  HOLDFAST_RETURN_IF_ERROR(CheckSaxpy(x.data(), y.data(), out.data()));
  return milliseconds;
}

// The same, but the data is made, and the result checked, in an arena. The
// executor page-locks it while the data is made; what takes longer, counts.
absl::StatusOr<double> RunInArena(Bench& bench) {
  const size_t bytes = kSaxpyN * sizeof(float);
  const Stopwatch before_data;
  HOLDFAST_ASSIGN_OR_RETURN(const Application app, Prepare(bench));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto arena,
      app.session->CreateArena(3 * bytes, {.in_background = true}));
  HOLDFAST_ASSIGN_OR_RETURN(const ArenaSpan x, arena->Allocate(bytes));
  HOLDFAST_ASSIGN_OR_RETURN(const ArenaSpan y, arena->Allocate(bytes));
  HOLDFAST_ASSIGN_OR_RETURN(const ArenaSpan out, arena->Allocate(bytes));
  double milliseconds = before_data.Milliseconds();

  MakeSaxpyData(x.As<float>().data(), y.As<float>().data());
  const Stopwatch after_data;
  HOLDFAST_RETURN_IF_ERROR(app.x.CopyFrom(x, app.stream));
  HOLDFAST_RETURN_IF_ERROR(app.y.CopyFrom(y, app.stream));
  HOLDFAST_RETURN_IF_ERROR(LaunchSaxpy(app));
  HOLDFAST_RETURN_IF_ERROR(app.out.CopyTo(out, app.stream));
  HOLDFAST_RETURN_IF_ERROR(app.stream.Synchronize());
  milliseconds += after_data.Milliseconds();
  HOLDFAST_RETURN_IF_ERROR(CheckSaxpy(
      x.As<float>().data(), y.As<float>().data(), out.As<float>().data()));
  return milliseconds;
}

absl::Status AddRuns(Bench& bench, const char* memory,
                     absl::StatusOr<double> (*run)(Bench&), double ratio) {
  std::vector<double> samples;
  for (int i = 0; i < (bench.quick() ? 1 : 5); ++i) {
    absl::SleepFor(kPause);
    HOLDFAST_ASSIGN_OR_RETURN(const double sample, run(bench));
    samples.push_back(sample);
  }
  Figure figure{
      .group = "application",
      .name = absl::StrCat("SAXPY of 2^24 floats, ", memory),
      .unit = "ms",
      .value = Summary::Of(std::move(samples), Better::kLess),
      .baseline = bench.NativeBaseline("application", "application_ms")};
  if (ratio > 0) figure = std::move(figure).ReachingRatio(ratio);
  bench.Add(std::move(figure));
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureApplication(Bench& bench) {
  HOLDFAST_RETURN_IF_ERROR(
      Program(kSaxpySource).Compile(*bench.daemon()).status());
  HOLDFAST_RETURN_IF_ERROR(
      AddRuns(bench, "ordinary memory", RunInOrdinaryMemory, 0));
  // A daemon of another machine shares no memory.
  HOLDFAST_ASSIGN_OR_RETURN(Session * session, bench.session());
  if (!session->CreateArena(4096).ok()) return absl::OkStatus();
  return AddRuns(bench, "arena", RunInArena, 1.0 / 20);
}

}  // namespace holdfast::bench
