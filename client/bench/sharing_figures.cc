// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "client/bench/bench.h"
#include "client/bench/sharing_workload.h"
#include "client/cpp/semaphore.h"
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

absl::Status MeasureSemaphores(Bench& bench, Session& one, Session& other) {
  HOLDFAST_ASSIGN_OR_RETURN(const Player first, MakeFirst(one));
  HOLDFAST_ASSIGN_OR_RETURN(const Player second, MakeSecond(other, first));
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

// One side of the game by events: the one that it records, and the other
// side's.
struct EventPlayer {
  Stream stream;
  Event done;
  Event others;
};

absl::StatusOr<std::pair<EventPlayer, EventPlayer>> MakeEventPlayers(
    Session& one, Session& other) {
  const Device& first = one.device(0);
  const Device& second = other.device(0);
  constexpr EventOptions kInterprocess = {.interprocess = true};
  HOLDFAST_ASSIGN_OR_RETURN(Event ping, first.CreateEvent(kInterprocess));
  HOLDFAST_ASSIGN_OR_RETURN(Event pong, second.CreateEvent(kInterprocess));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string ping_token, ping.Export());
  HOLDFAST_ASSIGN_OR_RETURN(const std::string pong_token, pong.Export());
  HOLDFAST_ASSIGN_OR_RETURN(Event seen_ping, second.ImportEvent(ping_token));
  HOLDFAST_ASSIGN_OR_RETURN(Event seen_pong, first.ImportEvent(pong_token));
  HOLDFAST_ASSIGN_OR_RETURN(Stream stream, first.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(Stream other_stream, second.CreateStream());
  return std::pair(
      EventPlayer{std::move(stream), std::move(ping), std::move(seen_pong)},
      EventPlayer{std::move(other_stream), std::move(pong),
                  std::move(seen_ping)});
}

// A wait is for the last recording, so that the other side has to know that it
// was made: an answer of the daemon's, where semaphores need none.
absl::Status PlayEvents(const EventPlayer& first, const EventPlayer& second) {
  HOLDFAST_RETURN_IF_ERROR(first.stream.Record(first.done));
  HOLDFAST_RETURN_IF_ERROR(first.done.IsDone().status());
  HOLDFAST_RETURN_IF_ERROR(second.stream.Wait(second.others));
  HOLDFAST_RETURN_IF_ERROR(second.stream.Record(second.done));
  HOLDFAST_RETURN_IF_ERROR(second.done.IsDone().status());
  return first.stream.Wait(first.others);
}

absl::Status MeasureEvents(Bench& bench, Session& one, Session& other) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto players, MakeEventPlayers(one, other));
  const auto& [first, second] = players;
  Figure figure = {.group = "sharing",
                   .name = "two sessions, a turn by events",
                   .unit = "µs",
                   .baseline = bench.NativeBaseline("sharing", "turn_us")};
  HOLDFAST_ASSIGN_OR_RETURN(
      figure.value, TurnTime(
                        bench.quick(),
                        [&first = first, &second = second](uint64_t) {
                          return PlayEvents(first, second);
                        },
                        [&first = first, &second = second]() -> absl::Status {
                          HOLDFAST_RETURN_IF_ERROR(second.stream.Synchronize());
                          return first.stream.Synchronize();
                        }));
  bench.Add(std::move(figure));
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureSharing(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto session, bench.OpenSession());
  HOLDFAST_ASSIGN_OR_RETURN(const auto other, bench.OpenSession());
  HOLDFAST_RETURN_IF_ERROR(MeasureSemaphores(bench, *session, *other));
  return MeasureEvents(bench, *session, *other);
}

}  // namespace holdfast::bench
