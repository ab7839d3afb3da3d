// SPDX-License-Identifier: Apache-2.0
//
// The short calls of a remote client: how long each takes over a network that
// costs nothing, and how many round trips a step of training takes over one
// that does.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/bench/bench.h"
#include "client/bench/delay_proxy.h"
#include "client/bench/grpc_echo.h"
#include "client/bench/kernels.h"
#include "client/bench/workload.h"
#include "client/cli/command.h"
#include "client/cpp/connection/address.h"
#include "client/cpp/launch.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/objects.pb.h"

namespace holdfast::bench {
namespace {

constexpr uint64_t kSizes[] = {4 << 10, 64 << 10, 1 << 20};

// A session over the network, and what its calls use.
struct Remote {
  std::unique_ptr<Session> session;
  Stream stream;
  Module module;
  Kernel kernel;
  Buffer buffer;
  Event start;
  Event end;
  std::vector<char> memory;

  absl::Status LaunchOne() const {
    return Launch(stream, {.grid = 1, .block = 32}, kernel, buffer, buffer,
                  1.0f, uint64_t{1});
  }
};

absl::StatusOr<Remote> MakeRemote(const std::string& address) {
  HOLDFAST_ASSIGN_OR_RETURN(
      auto session, Session::Open({.address = address, .name = "bench"}));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(
      const ObjectCode object,
      ObjectCode::Put(session->daemon(), kEmptyKernels, v1::OBJECT_FORMAT_PTX));
  HOLDFAST_ASSIGN_OR_RETURN(Module module, session->Load(object));
  HOLDFAST_ASSIGN_OR_RETURN(Kernel kernel, module.GetKernel("four"));
  HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer, device.Allocate(1 << 20, stream));
  HOLDFAST_ASSIGN_OR_RETURN(Event start, device.CreateEvent({.timing = true}));
  HOLDFAST_ASSIGN_OR_RETURN(Event end, device.CreateEvent({.timing = true}));
  return Remote{std::move(session), std::move(stream),
                std::move(module),  std::move(kernel),
                std::move(buffer),  std::move(start),
                std::move(end),     std::vector<char>(1 << 20, 1)};
}

// One kind of call, with the bytes that it takes to the daemon and back.
struct CallKind {
  std::string name;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  std::function<absl::Status(Remote&)> call;
};

std::vector<CallKind> CallKinds() {
  std::vector<CallKind> kinds = {
      {.name = "empty round trip",
       .call = [](Remote& remote) -> absl::Status {
         HOLDFAST_ASSIGN_OR_RETURN(const auto fence, remote.session->Fence());
         return fence.Wait();
       }},
      {.name = "launch and synchronise",
       .call = [](Remote& remote) -> absl::Status {
         HOLDFAST_RETURN_IF_ERROR(remote.LaunchOne());
         return remote.stream.Synchronize();
       }},
      {.name = "record two events, wait, elapsed time",
       .call = [](Remote& remote) -> absl::Status {
         HOLDFAST_RETURN_IF_ERROR(remote.stream.Record(remote.start));
         HOLDFAST_RETURN_IF_ERROR(remote.stream.Record(remote.end));
         return remote.end.AwaitMillisecondsSince(remote.start).status();
       }}};
  for (const uint64_t size : kSizes) {
    kinds.push_back({.name = absl::StrCat(cli::HumanBytes(size), " in"),
                     .bytes_in = size,
                     .call = [size](Remote& remote) -> absl::Status {
                       HOLDFAST_RETURN_IF_ERROR(remote.buffer.Upload(
                           remote.memory.data(), size, remote.stream));
                       return remote.stream.Synchronize();
                     }});
    kinds.push_back({.name = absl::StrCat(cli::HumanBytes(size), " out"),
                     .bytes_out = size,
                     .call = [size](Remote& remote) {
                       return remote.buffer.Download(remote.memory.data(), size,
                                                     remote.stream);
                     }});
  }
  return kinds;
}

// Each beside a message there and one back, with as many bytes, by bare gRPC
// the same way. `over_tcp` keeps the times over TCP, beside which those over
// TLS stand.
absl::Status AddCalls(Bench& bench, const std::string& way,
                      const std::string& address,
                      std::map<std::string, double>* over_tcp) {
  if (address.empty()) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(Remote remote, MakeRemote(address));
  const int count = LatencySamples(bench.quick()) / 2;
  for (const CallKind& kind : CallKinds()) {
    Figure figure{.group = "remote",
                  .name = absl::StrCat(way, ", ", kind.name),
                  .unit = "µs"};
    {
      HOLDFAST_ASSIGN_OR_RETURN(const auto echo, GrpcEcho::Start());
      HOLDFAST_ASSIGN_OR_RETURN(
          const Summary bare,
          echo->PingPong(
              way == "TCP" ? GrpcEcho::Network::kTcp : GrpcEcho::Network::kTls,
              count, kind.bytes_in, kind.bytes_out));
      figure.baseline = Baseline{absl::StrCat("bare gRPC, ", way), bare};
    }
    HOLDFAST_ASSIGN_OR_RETURN(
        figure.value, TimeEach(50, count, [&] { return kind.call(remote); }));
    if (way == "TCP") {
      over_tcp->emplace(kind.name, figure.value.p50);
      figure = std::move(figure).ReachingSum(8);
    } else if (const auto tcp = over_tcp->find(kind.name);
               tcp != over_tcp->end()) {
      figure = std::move(figure).Reaching(tcp->second + 10, "≤ TCP + 10 µs");
    }
    bench.Add(std::move(figure));
  }
  return absl::OkStatus();
}

// As a framework submits one: kernels, some waits for a result, and two copies.
absl::Status TrainingStep(Remote& remote) {
  constexpr int kLaunches = 300;
  constexpr int kWaits = 4;
  constexpr uint64_t kCopied = 64 << 10;
  HOLDFAST_RETURN_IF_ERROR(
      remote.buffer.Upload(remote.memory.data(), kCopied, remote.stream));
  for (int wait = 0; wait < kWaits; ++wait) {
    for (int i = 0; i < kLaunches / kWaits; ++i) {
      HOLDFAST_RETURN_IF_ERROR(remote.LaunchOne());
    }
    HOLDFAST_RETURN_IF_ERROR(remote.stream.Synchronize());
  }
  return remote.buffer.Download(remote.memory.data(), kCopied, remote.stream);
}

absl::Status AddStep(Bench& bench, absl::Duration round_trip) {
  HOLDFAST_ASSIGN_OR_RETURN(const Address tcp,
                            Address::Parse(bench.options().tcp_address));
  HOLDFAST_ASSIGN_OR_RETURN(const auto proxy,
                            DelayProxy::Start(tcp.target, round_trip / 2));
  HOLDFAST_ASSIGN_OR_RETURN(Remote remote,
                            MakeRemote(absl::StrCat("tcp:", proxy->target())));
  const int count = bench.quick() ? 5 : 30;
  Figure figure{
      .group = "remote",
      .name = absl::StrCat("300 launches, 4 waits, 64 KiB in and out, over ",
                           absl::FormatDuration(round_trip)),
      .unit = "µs"};
  // The waits and the copy out are five round trips; nothing else need be one.
  HOLDFAST_ASSIGN_OR_RETURN(
      const Summary waits, TimeEach(3, count, [&]() -> absl::Status {
        for (int i = 0; i < 5; ++i) {
          HOLDFAST_RETURN_IF_ERROR(remote.stream.Synchronize());
        }
        return absl::OkStatus();
      }));
  figure.baseline = Baseline{"five empty waits", waits};
  HOLDFAST_ASSIGN_OR_RETURN(
      figure.value, TimeEach(3, count, [&] { return TrainingStep(remote); }));
  bench.Add(std::move(figure).ReachingRatio(1.5));
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureRemote(Bench& bench) {
  std::map<std::string, double> over_tcp;
  HOLDFAST_RETURN_IF_ERROR(
      AddCalls(bench, "TCP", bench.options().tcp_address, &over_tcp));
  HOLDFAST_RETURN_IF_ERROR(
      AddCalls(bench, "TLS", bench.options().tls_address, &over_tcp));
  if (bench.options().tcp_address.empty()) return absl::OkStatus();
  HOLDFAST_RETURN_IF_ERROR(AddStep(bench, absl::Milliseconds(1)));
  return AddStep(bench, absl::Milliseconds(30));
}

}  // namespace holdfast::bench
