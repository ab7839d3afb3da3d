// SPDX-License-Identifier: Apache-2.0
#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "client/bench/bench.h"
#include "client/bench/grpc_echo.h"
#include "client/bench/process_time.h"
#include "client/bench/process_waits.h"
#include "client/bench/workload.h"
#include "client/cli/command.h"
#include "client/cpp/transfer/transfer_stream.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::bench {
namespace {

using Direction = GrpcEcho::Direction;

// Where the bars stand.
constexpr uint64_t kLarge = 64 << 20;

// One way over the network, with so many calls at a time.
struct Way {
  std::string name;
  std::string address;
  int calls = 1;
  // Bar from kLarge on: a share of bare gRPC's rate, or of TCP's where this is
  // TLS; 0: none.
  double bar = 0;
  bool over_tls = false;
};

// GB/s over TCP by figure name without the way.
using Rates = std::map<std::string, double>;

absl::Status CopyOnce(const Stream& stream, const Buffer& buffer,
                      Direction direction, std::vector<char>& memory,
                      uint64_t size) {
  if (direction == Direction::kOut) {
    return buffer.Download(memory.data(), size, stream);
  }
  HOLDFAST_RETURN_IF_ERROR(buffer.Upload(memory.data(), size, stream));
  return stream.Synchronize();
}

// The waits of threads so far.
struct Waits {
  uint64_t daemon = 0;
  uint64_t executor = 0;
};

// NOT_FOUND: the processes of `session` are not visible from here.
absl::StatusOr<Waits> WaitsOf(const Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto all, session.daemon().Sessions());
  for (const v1::SessionInfo& info : all) {
    if (info.session_id() != session.id()) continue;
    const auto executor = static_cast<pid_t>(info.executor_pid());
    HOLDFAST_ASSIGN_OR_RETURN(const pid_t daemon, DaemonOf(executor));
    Waits waits;
    HOLDFAST_ASSIGN_OR_RETURN(waits.daemon, CountWaits(daemon));
    HOLDFAST_ASSIGN_OR_RETURN(waits.executor, CountWaits(executor));
    return waits;
  }
  return absl::NotFoundError("the session is not listed");
}

// How often threads of the daemon and of the executor wait for each MiB of the
// copies that `copy` makes, each of `size` bytes.
absl::Status AddWaits(Bench& bench, const Session& session,
                      const std::string& name, uint64_t size,
                      absl::FunctionRef<absl::Status()> copy) {
  const int count = bench.quick() ? 8 : 32;
  const auto before = WaitsOf(session);
  if (!before.ok()) {
    std::fprintf(stderr, "network: waits not measured: %s\n",
                 std::string(before.status().message()).c_str());
    return absl::OkStatus();
  }
  for (int i = 0; i < count; ++i) HOLDFAST_RETURN_IF_ERROR(copy());
  HOLDFAST_ASSIGN_OR_RETURN(const Waits after, WaitsOf(session));
  const double mebibytes =
      static_cast<double>(size) * count / (uint64_t{1} << 20);
  for (const auto& [whose, waits] :
       {std::pair("the daemon", after.daemon - before->daemon),
        std::pair("the executor", after.executor - before->executor)}) {
    bench.Add({.group = "network",
               .name = absl::StrCat(name, ", waits of ", whose, "'s threads"),
               .unit = "/MiB",
               .value = Summary::Of({static_cast<double>(waits) / mebibytes},
                                    Better::kLess)});
  }
  return absl::OkStatus();
}

// One of several copies at once, with a stream of its own.
struct Copy {
  static constexpr uint64_t kSize = 16 << 20;

  Stream stream;
  Buffer buffer;
  std::vector<char> memory;
  absl::Status status;
  double milliseconds = 0;
};

absl::StatusOr<std::vector<Copy>> MakeCopies(const Device& device, int count) {
  std::vector<Copy> copies;
  copies.reserve(count);
  for (int i = 0; i < count; ++i) {
    HOLDFAST_ASSIGN_OR_RETURN(Stream stream, device.CreateStream());
    HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer,
                              device.Allocate(Copy::kSize, stream));
    copies.push_back({std::move(stream), std::move(buffer),
                      std::vector<char>(Copy::kSize, 1)});
  }
  return copies;
}

// Returns the time of the slowest copy in milliseconds.
absl::StatusOr<double> CopyAtOnce(std::vector<Copy>& copies,
                                  Direction direction) {
  const Stopwatch watch;
  std::vector<std::thread> threads;
  threads.reserve(copies.size());
  for (Copy& copy : copies) {
    threads.emplace_back([&copy, &watch, direction] {
      copy.status = CopyOnce(copy.stream, copy.buffer, direction, copy.memory,
                             Copy::kSize);
      copy.milliseconds = watch.Milliseconds();
    });
  }
  for (std::thread& thread : threads) thread.join();
  double slowest = 0;
  for (const Copy& copy : copies) {
    HOLDFAST_RETURN_IF_ERROR(copy.status);
    slowest = std::max(slowest, copy.milliseconds);
  }
  return slowest;
}

// One session copies `count` times at once.
absl::Status AddAtOnce(Bench& bench, const Way& way, int count,
                       Direction direction) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open(
          {.address = way.address, .name = "bench", .transfer_calls = 1}));
  HOLDFAST_ASSIGN_OR_RETURN(std::vector<Copy> copies,
                            MakeCopies(session->device(0), count));
  std::vector<double> rates, slowest;
  for (int round = 0; round < (bench.quick() ? 3 : kRounds); ++round) {
    HOLDFAST_ASSIGN_OR_RETURN(const double last, CopyAtOnce(copies, direction));
    rates.push_back(1e-6 * static_cast<double>(Copy::kSize) * count / last);
    slowest.push_back(last);
  }
  const std::string name = absl::StrCat(
      way.name, ", ", count, " copies of ", cli::HumanBytes(Copy::kSize), " ",
      direction == Direction::kIn ? "in" : "out", " at once");
  bench.Add({.group = "network",
             .name = name,
             .unit = "GB/s",
             .better = Better::kMore,
             .value = Summary::Of(std::move(rates), Better::kMore)});
  bench.Add({.group = "network",
             .name = absl::StrCat(name, ", the slowest"),
             .unit = "ms",
             .value = Summary::Of(std::move(slowest), Better::kLess)});
  return absl::OkStatus();
}

Figure WithBar(Figure figure, const Way& way, const std::string& copy,
               const Rates& over_tcp) {
  if (!way.over_tls) return std::move(figure).ReachingRatio(way.bar);
  const auto tcp = over_tcp.find(copy);
  if (tcp == over_tcp.end()) return figure;
  return std::move(figure).Reaching(way.bar * tcp->second,
                                    absl::StrCat("≥ ", way.bar, " × TCP"));
}

absl::Status AddWay(Bench& bench, const Way& way, Rates* over_tcp) {
  if (way.address.empty()) return absl::OkStatus();
  const std::vector<uint64_t> sizes = NetworkSizes(bench.quick());
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = way.address,
                     .name = "bench",
                     .transfer_calls = static_cast<uint32_t>(way.calls)}));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer,
                            device.Allocate(sizes.back(), stream));
  std::vector<char> memory(sizes.back(), 1);
  for (const uint64_t size : sizes) {
    for (const Direction direction : {Direction::kIn, Direction::kOut}) {
      const std::string copy =
          absl::StrCat(way.calls == 1 ? ", one call " : " ",
                       direction == Direction::kIn ? "in, " : "out, ",
                       cli::HumanBytes(size));
      const auto copy_once = [&] {
        return CopyOnce(stream, buffer, direction, memory, size);
      };
      Figure figure{.group = "network",
                    .name = absl::StrCat(way.name, copy),
                    .unit = "GB/s",
                    .better = Better::kMore};
      HOLDFAST_ASSIGN_OR_RETURN(const auto echo, GrpcEcho::Start());
      HOLDFAST_ASSIGN_OR_RETURN(
          const Summary bare,
          echo->ByteRate(
              way.over_tls ? GrpcEcho::Network::kTls : GrpcEcho::Network::kTcp,
              direction, size, way.calls));
      figure.baseline = Baseline{absl::StrCat("bare gRPC, ", way.name), bare};
      HOLDFAST_ASSIGN_OR_RETURN(figure.value, CopyRate(size, copy_once));
      if (!way.over_tls) over_tcp->emplace(copy, figure.value.p50);
      if (way.bar > 0 && size >= kLarge) {
        figure = WithBar(std::move(figure), way, copy, *over_tcp);
      }
      bench.Add(std::move(figure));
      if (way.calls == 1 && size == kLarge) {
        HOLDFAST_RETURN_IF_ERROR(AddWaits(
            bench, *session, absl::StrCat(way.name, copy), size, copy_once));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureNetwork(Bench& bench) {
  const int calls = static_cast<int>(bench.options().transfer_calls > 0
                                         ? bench.options().transfer_calls
                                         : std::max(2u, UsefulTransferCalls()));
  Rates over_tcp;
  for (const Way& way :
       {Way{"TCP", bench.options().tcp_address, 1, 0.85},
        Way{"TCP", bench.options().tcp_address, calls, 0.8},
        Way{"TLS", bench.options().tls_address, 1, 0, /*over_tls=*/true},
        Way{"TLS", bench.options().tls_address, calls, 0.6, true}}) {
    HOLDFAST_RETURN_IF_ERROR(AddWay(bench, way, &over_tcp));
  }
  const Way tcp{"TCP", bench.options().tcp_address};
  if (tcp.address.empty()) return absl::OkStatus();
  // A session has 16 pipes.
  for (const int transfers : {16, 17, 32}) {
    for (const Direction direction : {Direction::kIn, Direction::kOut}) {
      HOLDFAST_RETURN_IF_ERROR(AddAtOnce(bench, tcp, transfers, direction));
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::bench
