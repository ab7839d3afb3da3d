// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/bench/bench.h"
#include "client/bench/kernels.h"
#include "client/bench/workload.h"
#include "client/cpp/launch.h"
#include "client/cpp/program.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {
namespace {

// The daemon replaces a warm executor within this time.
constexpr absl::Duration kPause = absl::Seconds(1);

// Milliseconds from opening the session to the result in memory, without the
// time in which the data is made and the result checked.
absl::StatusOr<double> RunApplication(Bench& bench) {
  const size_t bytes = kSaxpyN * sizeof(float);
  const Stopwatch before_data;
  HOLDFAST_ASSIGN_OR_RETURN(const auto session, bench.OpenSession());
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compilation,
                            Program(kSaxpySource).Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel saxpy, module.GetKernel("saxpy"));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_x, device.Allocate(bytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_y, device.Allocate(bytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_out, device.Allocate(bytes, stream));
  double milliseconds = before_data.Milliseconds();

  std::vector<float> x(kSaxpyN), y(kSaxpyN), out(kSaxpyN);
  MakeSaxpyData(x.data(), y.data());
  const Stopwatch after_data;
  HOLDFAST_RETURN_IF_ERROR(d_x.Upload(x, stream));
  HOLDFAST_RETURN_IF_ERROR(d_y.Upload(y, stream));
  HOLDFAST_RETURN_IF_ERROR(
      Launch(stream, {.grid = kSaxpyBlocks, .block = kSaxpyThreads}, saxpy,
             kSaxpyA, d_x, d_y, d_out, uint64_t{kSaxpyN}));
  HOLDFAST_RETURN_IF_ERROR(d_out.Download(out, stream));
  milliseconds += after_data.Milliseconds();
  HOLDFAST_RETURN_IF_ERROR(CheckSaxpy(x.data(), y.data(), out.data()));
  return milliseconds;
}

}  // namespace

absl::Status MeasureApplication(Bench& bench) {
  HOLDFAST_RETURN_IF_ERROR(
      Program(kSaxpySource).Compile(*bench.daemon()).status());
  std::vector<double> samples;
  for (int i = 0; i < (bench.quick() ? 1 : 5); ++i) {
    absl::SleepFor(kPause);
    HOLDFAST_ASSIGN_OR_RETURN(const double sample, RunApplication(bench));
    samples.push_back(sample);
  }
  bench.Add(
      Figure{.group = "application",
             .name = "SAXPY of 2^24 floats",
             .unit = "ms",
             .value = Summary::Of(std::move(samples), Better::kLess),
             .baseline = bench.NativeBaseline("application", "application_ms")}
          .ReachingRatio(1.0 / 20));
  return absl::OkStatus();
}

}  // namespace holdfast::bench
