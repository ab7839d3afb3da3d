// SPDX-License-Identifier: Apache-2.0
#include "client/bench/bench.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/bench/grpc_echo.h"
#include "client/bench/native_process.h"
#include "client/bench/workload.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast::bench {
namespace {

struct Group {
  const char* name;
  const char* summary;
  absl::Status (*measure)(Bench&);
};

constexpr Group kGroups[] = {
    {"session", "opening a session, and the memory that it takes",
     MeasureSessions},
    {"commands", "round trips, and commands that call no driver",
     MeasureCommands},
    {"launch", "kernels a second, launch and synchronise", MeasureLaunches},
    {"graph", "instantiated graphs; over a slow network, too, with --tcp",
     MeasureGraphs},
    {"memory", "allocate and free", MeasureMemory},
    {"event", "record and elapsed time", MeasureEvents},
    {"sharing", "streams of two sessions that wait for each other",
     MeasureSharing},
    {"compile", "programs found in the cache, new ones, many at once",
     MeasureCompiling},
    {"copy", "bytes in and out on this machine", MeasureCopies},
    {"devices", "copies from device 0 to device 1, where there are two",
     MeasureDevices},
    {"network", "bytes in and out over TCP and TLS, with --tcp and --tls",
     MeasureNetwork},
    {"remote", "short calls over TCP and TLS, and over networks with distance",
     MeasureRemote},
    {"trace", "launch and synchronise, step by step, with --tcp and --tls, too",
     MeasureTrace},
    {"recovery", "from a fault to the next launch, with bytes held",
     MeasureRecovery},
    {"idle", "CPU time of a daemon whose ten sessions do nothing", MeasureIdle},
    {"application", "the whole of SAXPY", MeasureApplication},
};

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof name - 1);
  return absl::StrCat(name, " (", std::thread::hardware_concurrency(),
                      " cores)");
}

bool Wanted(const BenchOptions& options, const std::string& name) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), name) !=
             options.only.end();
}

absl::Status CheckNames(const BenchOptions& options) {
  for (const std::string& name : options.only) {
    const bool known =
        std::any_of(std::begin(kGroups), std::end(kGroups),
                    [&name](const Group& group) { return name == group.name; });
    if (known) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "no group \"", name, "\"; there are:\n", DescribeGroups()));
  }
  return absl::OkStatus();
}

}  // namespace

std::string DescribeGroups() {
  std::string text;
  for (const Group& group : kGroups) {
    absl::StrAppend(&text, group.name, ": ", group.summary, "\n");
  }
  return text;
}

absl::StatusOr<Report> Run(const BenchOptions& options) {
  HOLDFAST_RETURN_IF_ERROR(CheckNames(options));
  HOLDFAST_ASSIGN_OR_RETURN(const auto bench, Bench::Create(options));
  for (const Group& group : kGroups) {
    if (!Wanted(options, group.name)) continue;
    std::fprintf(stderr, "%s ...\n", group.name);
    HOLDFAST_RETURN_IF_ERROR(group.measure(*bench));
  }
  return std::move(bench->report());
}

absl::StatusOr<std::unique_ptr<Bench>> Bench::Create(BenchOptions options) {
  std::unique_ptr<Bench> bench(new Bench(std::move(options)));
  HOLDFAST_ASSIGN_OR_RETURN(bench->daemon_,
                            Daemon::Connect(bench->options_.address));
  HOLDFAST_ASSIGN_OR_RETURN(const auto device,
                            bench->daemon_->DescribeDevice(0));
  const v1::Driver& driver = device.driver();
  bench->native_device_ =
      driver.kind() == v1::Driver::KIND_SOFTWARE ? "cpu" : "cuda";
  bench->native_path_ = driver.path();
  Report& report = bench->report_;
  report.date =
      absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::Now(), absl::UTCTimeZone());
  report.host = HostName();
  report.device =
      absl::StrCat(device.device().name(), ", driver ", driver.version() / 1000,
                   ".", driver.version() % 1000 / 10);
  report.address = bench->daemon_->address().text;
  return bench;
}

absl::StatusOr<std::unique_ptr<Session>> Bench::OpenSession() const {
  return Session::Open(daemon_, {.name = "bench"});
}

absl::StatusOr<Session*> Bench::session() {
  if (session_ == nullptr) {
    HOLDFAST_ASSIGN_OR_RETURN(session_, OpenSession());
  }
  return session_.get();
}

const NativeFigures& Bench::Native(const std::string& group) {
  const auto found = native_.find(group);
  if (found != native_.end()) return found->second;
  auto figures = RunNativeProcess(group, quick(), native_device_, native_path_);
  if (!figures.ok()) {
    std::fprintf(stderr, "%s: not compared: %s\n", group.c_str(),
                 std::string(figures.status().message()).c_str());
    figures = NativeFigures();
  }
  return native_.emplace(group, *std::move(figures)).first->second;
}

std::optional<Baseline> Bench::NativeBaseline(const std::string& group,
                                              const std::string& name) {
  const NativeFigures& figures = Native(group);
  const auto found = figures.find(name);
  if (found == figures.end()) return std::nullopt;
  return Baseline{"native", found->second};
}

absl::StatusOr<Summary> Bench::PingPong() {
  if (!ping_pong_.has_value()) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto echo, GrpcEcho::Start());
    HOLDFAST_ASSIGN_OR_RETURN(ping_pong_,
                              echo->PingPong(LatencySamples(quick())));
  }
  return *ping_pong_;
}

void Bench::Add(Figure figure) {
  std::fprintf(stderr, "  %s: %.4g %s\n", figure.name.c_str(), figure.value.p50,
               figure.unit.c_str());
  report_.figures.push_back(std::move(figure));
}

}  // namespace holdfast::bench
