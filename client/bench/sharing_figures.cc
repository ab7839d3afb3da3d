// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "client/bench/bench.h"
#include "client/bench/sharing_workload.h"
#include "client/cpp/sharing/semaphore.h"
#include "core/base/status_macros.h"

namespace holdfast::bench {
namespace {

// One side of the game: its session, its stream, and the two semaphores, of
// which one is imported.
struct Player {
  Stream stream;
  Semaphore ping;
  Semaphore pong;
};

absl::StatusOr<Player> MakeFirst(Session& session) {
  const Device& device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(Semaphore ping, device.CreateSemaphore());
  HOLDFAST_ASSIGN_OR_RETURN(Semaphore pong, device.CreateSemaphore());
  return Player{std::move(stream), std::move(ping), std::move(pong)};
}

absl::StatusOr<Player> MakeSecond(Session& session, const Player& first) {
  const Device& device = session.device(0);
  const ExportOptions writable = {.rights = Rights::kReadWrite};
  HOLDFAST_ASSIGN_OR_RETURN(const std::string ping, first.ping.Export());
  HOLDFAST_ASSIGN_OR_RETURN(const std::string pong,
                            first.pong.Export(writable));
  HOLDFAST_ASSIGN_OR_RETURN(Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(Semaphore imported_ping,
                            device.ImportSemaphore(ping));
  HOLDFAST_ASSIGN_OR_RETURN(Semaphore imported_pong,
                            device.ImportSemaphore(pong));
  return Player{std::move(stream), std::move(imported_ping),
                std::move(imported_pong)};
}

// All turns are submitted ahead: the streams play alone.
absl::Status Play(const Player& first, const Player& second, uint64_t turn) {
  HOLDFAST_RETURN_IF_ERROR(second.ping.Wait(turn, second.stream));
  HOLDFAST_RETURN_IF_ERROR(second.pong.Signal(turn, second.stream));
  HOLDFAST_RETURN_IF_ERROR(first.ping.Signal(turn, first.stream));
  return first.pong.Wait(turn, first.stream);
}

}  // namespace

absl::Status MeasureSharing(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto session, bench.OpenSession());
  HOLDFAST_ASSIGN_OR_RETURN(const auto other, bench.OpenSession());
  HOLDFAST_ASSIGN_OR_RETURN(const Player first, MakeFirst(*session));
  HOLDFAST_ASSIGN_OR_RETURN(const Player second, MakeSecond(*other, first));
  Figure figure = {.group = "sharing",
                   .name = "two sessions, a turn by semaphores",
                   .unit = "µs",
                   .baseline = bench.NativeBaseline("sharing", "turn_us")};
  HOLDFAST_ASSIGN_OR_RETURN(
      figure.value,
      TurnTime(
          bench.quick(),
          [&](uint64_t turn) { return Play(first, second, turn); },
          [&]() -> absl::Status {
            HOLDFAST_RETURN_IF_ERROR(second.stream.Synchronize());
            return first.stream.Synchronize();
          }));
  bench.Add(std::move(figure));
  return absl::OkStatus();
}

}  // namespace holdfast::bench
