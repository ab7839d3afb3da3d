// SPDX-License-Identifier: Apache-2.0
#include "client/bench/bench.h"
#include "client/bench/grpc_echo.h"
#include "client/bench/workload.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {
namespace {

// Two commands that only the session's tables know of: a view of a buffer is
// made, and ends.
absl::StatusOr<Summary> ViewRate(Session& session, bool quick) {
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer,
                            session.device(0).Allocate(4096));
  const int pairs = quick ? 20'000 : 500'000;
  return RateOf(kRounds, 2.0 * pairs, [&]() -> absl::Status {
    for (int i = 0; i < pairs; ++i) {
      HOLDFAST_RETURN_IF_ERROR(buffer.Sub(0, 256).status());
    }
    return session.Synchronize();
  });
}

absl::StatusOr<Summary> BareRate(bool quick) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto echo, GrpcEcho::Start());
  return echo->CommandRate(1024, quick ? 20 : 1000);
}

}  // namespace

absl::Status MeasureCommands(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(Session * session, bench.session());
  HOLDFAST_ASSIGN_OR_RETURN(const Summary ping_pong, bench.PingPong());
  Figure round_trip{.group = "commands",
                    .name = "empty round trip",
                    .unit = "µs",
                    .baseline = Baseline{"bare gRPC", ping_pong}};
  HOLDFAST_ASSIGN_OR_RETURN(
      round_trip.value,
      TimeEach(100, LatencySamples(bench.quick()), [&]() -> absl::Status {
        HOLDFAST_ASSIGN_OR_RETURN(const auto fence, session->Fence());
        return fence.Wait();
      }));
  bench.Add(std::move(round_trip));

  HOLDFAST_ASSIGN_OR_RETURN(const Summary bare, BareRate(bench.quick()));
  Figure rate{.group = "commands",
              .name = "that call no driver",
              .unit = "/s",
              .better = Better::kMore,
              .baseline = Baseline{"bare gRPC", bare}};
  HOLDFAST_ASSIGN_OR_RETURN(rate.value, ViewRate(*session, bench.quick()));
  bench.Add(std::move(rate).Reaching(3e6, "≥ 3 M/s"));
  return absl::OkStatus();
}

}  // namespace holdfast::bench
