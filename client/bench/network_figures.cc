// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/bench/bench.h"
#include "client/bench/grpc_echo.h"
#include "client/bench/workload.h"
#include "client/cli/command.h"
#include "client/cpp/transfer/transfer_stream.h"
#include "core/base/status_macros.h"

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

absl::StatusOr<Summary> HoldfastRate(const Stream& stream, const Buffer& buffer,
                                     Direction direction,
                                     std::vector<char>& memory, uint64_t size) {
  return CopyRate(size, [&]() -> absl::Status {
    if (direction == Direction::kOut) {
      return buffer.Download(memory.data(), size, stream);
    }
    HOLDFAST_RETURN_IF_ERROR(buffer.Upload(memory.data(), size, stream));
    return stream.Synchronize();
  });
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
      HOLDFAST_ASSIGN_OR_RETURN(
          figure.value, HoldfastRate(stream, buffer, direction, memory, size));
      if (!way.over_tls) over_tcp->emplace(copy, figure.value.p50);
      if (way.bar > 0 && size >= kLarge) {
        figure = WithBar(std::move(figure), way, copy, *over_tcp);
      }
      bench.Add(std::move(figure));
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
  return absl::OkStatus();
}

}  // namespace holdfast::bench
