// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/bench/bench.h"
#include "client/bench/process_memory.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::bench {
namespace {

// The daemon replaces a warm executor within this time.
constexpr absl::Duration kPause = absl::Seconds(1);

absl::StatusOr<Summary> OpenMilliseconds(Bench& bench) {
  std::vector<double> samples;
  for (int i = 0; i < (bench.quick() ? 2 : 7); ++i) {
    absl::SleepFor(kPause);
    const Stopwatch watch;
    HOLDFAST_ASSIGN_OR_RETURN(const auto session, bench.OpenSession());
    HOLDFAST_ASSIGN_OR_RETURN(const auto stream,
                              session->device(0).CreateStream());
    HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
    samples.push_back(watch.Milliseconds());
  }
  return Summary::Of(std::move(samples), Better::kLess);
}

// The memory of the executor of an idle session, beyond that of a process that
// holds only the driver and a context.
absl::StatusOr<double> OwnMemoryMiB(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto session, bench.OpenSession());
  HOLDFAST_ASSIGN_OR_RETURN(const auto stream,
                            session->device(0).CreateStream());
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  HOLDFAST_ASSIGN_OR_RETURN(const auto sessions, bench.daemon()->Sessions());
  for (const v1::SessionInfo& info : sessions) {
    if (info.session_id() != session->id()) continue;
    HOLDFAST_ASSIGN_OR_RETURN(
        const double memory,
        PrivateMemoryMiB(absl::StrCat(info.executor_pid())));
    const auto context = bench.NativeBaseline("session", "memory_mib");
    return context.has_value() ? memory - context->value.p50 : memory;
  }
  return absl::NotFoundError("the session is not in the list");
}

}  // namespace

absl::Status MeasureSessions(Bench& bench) {
  Figure open{
      .group = "session",
      .name = "open, first stream made",
      .unit = "ms",
      .baseline = bench.NativeBaseline("session", "driver_and_context_ms")};
  HOLDFAST_ASSIGN_OR_RETURN(open.value, OpenMilliseconds(bench));
  bench.Add(std::move(open).Reaching(2, "≤ 2 ms"));

  const auto memory = OwnMemoryMiB(bench);
  if (memory.ok()) {
    bench.Add(Figure{.group = "session",
                     .name = "memory besides the context, idle",
                     .unit = "MiB",
                     .value = Summary::Of({*memory}, Better::kLess)}
                  .Reaching(30, "≤ 30 MiB"));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::bench
