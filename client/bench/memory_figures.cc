// SPDX-License-Identifier: Apache-2.0
#include "client/bench/bench.h"
#include "client/bench/workload.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {

absl::Status MeasureMemory(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(Session * session, bench.session());
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  const int count = LaunchesPerRound(bench.quick());
  Figure pair{.group = "memory",
              .name = "allocate + free 1 MiB in a stream's order",
              .unit = "µs",
              .baseline = bench.NativeBaseline("memory", "allocate_free_us")};
  HOLDFAST_ASSIGN_OR_RETURN(
      pair.value, TimePerUnit(kRounds, count, [&]() -> absl::Status {
        for (int i = 0; i < count; ++i) {
          HOLDFAST_RETURN_IF_ERROR(device.Allocate(1 << 20, stream).status());
        }
        return stream.Synchronize();
      }));
  bench.Add(std::move(pair).ReachingRatio(1.5));
  return absl::OkStatus();
}

}  // namespace holdfast::bench
