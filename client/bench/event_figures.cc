// SPDX-License-Identifier: Apache-2.0
#include "client/bench/bench.h"
#include "client/bench/workload.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {

absl::Status MeasureEvents(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(Session * session, bench.session());
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Event start,
                            device.CreateEvent({.timing = true}));
  HOLDFAST_ASSIGN_OR_RETURN(const Event end,
                            device.CreateEvent({.timing = true}));
  const int count = LaunchesPerRound(bench.quick());
  Figure record{.group = "event",
                .name = "record",
                .unit = "/s",
                .better = Better::kMore,
                .baseline = bench.NativeBaseline("event", "record_rate")};
  HOLDFAST_ASSIGN_OR_RETURN(record.value,
                            RateOf(kRounds, count, [&]() -> absl::Status {
                              for (int i = 0; i < count; ++i) {
                                HOLDFAST_RETURN_IF_ERROR(stream.Record(start));
                              }
                              return stream.Synchronize();
                            }));
  bench.Add(std::move(record));

  Figure elapsed{.group = "event",
                 .name = "record two, wait, elapsed time",
                 .unit = "µs",
                 .baseline = bench.NativeBaseline("event", "elapsed_us")};
  HOLDFAST_ASSIGN_OR_RETURN(
      elapsed.value,
      TimeEach(20, LatencySamples(bench.quick()), [&]() -> absl::Status {
        HOLDFAST_RETURN_IF_ERROR(stream.Record(start));
        HOLDFAST_RETURN_IF_ERROR(stream.Record(end));
        return end.AwaitMillisecondsSince(start).status();
      }));
  bench.Add(std::move(elapsed));
  return absl::OkStatus();
}

}  // namespace holdfast::bench
