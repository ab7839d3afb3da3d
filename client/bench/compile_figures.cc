// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/bench/bench.h"
#include "client/bench/grpc_echo.h"
#include "client/bench/kernels.h"
#include "client/bench/nvrtc_process.h"
#include "client/bench/workload.h"
#include "client/cpp/compile/program.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast::bench {
namespace {

constexpr size_t kClients = 32;
// Workers of one daemon that are compared with a single one.
constexpr unsigned kMaxWorkers = 16;

Figure MakeFigure(std::string name, const char* unit,
                  Better better = Better::kLess) {
  return {.group = "compile",
          .name = std::move(name),
          .unit = unit,
          .better = better};
}

absl::StatusOr<Compilation> Compile(Daemon& daemon, std::string source) {
  const Program program(std::move(source), {.arch = kCompileArch});
  return program.Compile(daemon, {}, v1::OBJECT_FORMAT_PTX);
}

// A source that the daemon cannot have, from an earlier run either.
std::string FreshSource() {
  static const int64_t run = absl::GetCurrentTimeNanos() % 1'000'000'000;
  static std::atomic<int> number = 0;
  return absl::StrCat(NewSource(++number), "__device__ int run_", run, ";\n");
}

// Calls `body` for all clients at once, on a connection each; how long it took
// until the last was done, or the first error.
template <typename Body>
absl::StatusOr<double> MicrosecondsAtOnce(const std::string& address,
                                          Body body) {
  std::vector<std::shared_ptr<Daemon>> connections(kClients);
  for (auto& connection : connections) {
    HOLDFAST_ASSIGN_OR_RETURN(connection, Daemon::Connect(address));
  }
  std::vector<absl::Status> statuses(kClients);
  std::vector<std::thread> threads;
  absl::Notification start;
  for (size_t i = 0; i < kClients; ++i) {
    threads.emplace_back([&, i] {
      start.WaitForNotification();
      statuses[i] = body(*connections[i]);
    });
  }
  const Stopwatch watch;
  start.Notify();
  for (std::thread& thread : threads) thread.join();
  const double microseconds = watch.Microseconds();
  for (const absl::Status& status : statuses) {
    HOLDFAST_RETURN_IF_ERROR(status);
  }
  return microseconds;
}

absl::Status MeasureMemoryHits(Bench& bench) {
  Figure hit = MakeFigure("compiled before, in memory", "µs");
  {
    HOLDFAST_ASSIGN_OR_RETURN(const auto echo, GrpcEcho::Start());
    HOLDFAST_ASSIGN_OR_RETURN(const Summary empty,
                              echo->UnaryCall(LatencySamples(bench.quick())));
    hit.baseline = Baseline{"empty call", empty};
  }
  Daemon& daemon = *bench.daemon();
  HOLDFAST_RETURN_IF_ERROR(Compile(daemon, kSaxpySource).status());
  HOLDFAST_ASSIGN_OR_RETURN(
      hit.value, TimeEach(100, LatencySamples(bench.quick()), [&daemon] {
        return Compile(daemon, kSaxpySource).status();
      }));
  bench.Add(std::move(hit).ReachingRatio(1.5));
  return absl::OkStatus();
}

// One new program after the other, each by NVRTC alone and by the daemon: what
// the machine does meanwhile slows down both.
absl::StatusOr<Summary> MeasureNew(Bench& bench) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto nvrtc, NvrtcProcess::Start());
  std::vector<double> alone, fresh, told;
  for (int i = -3; i < Compilations(bench.quick()); ++i) {
    const std::string source = FreshSource();
    HOLDFAST_ASSIGN_OR_RETURN(const double native, nvrtc->Compile(source));
    const Stopwatch watch;
    HOLDFAST_ASSIGN_OR_RETURN(const Compilation made,
                              Compile(*bench.daemon(), source));
    const double microseconds = watch.Microseconds();
    if (i < 0) continue;
    alone.push_back(native);
    fresh.push_back(microseconds);
    told.push_back(absl::ToDoubleMicroseconds(made.time));
  }
  Figure figure = MakeFigure("new", "µs");
  figure.value = Summary::Of(std::move(fresh), Better::kLess);
  figure.baseline = Baseline{"NVRTC", Summary::Of(alone, Better::kLess)};
  const Summary value = figure.value;
  bench.Add(std::move(figure).ReachingRatio(1.1));
  Figure compiler = MakeFigure("new, of that in the compiler", "µs");
  compiler.value = Summary::Of(std::move(told), Better::kLess);
  compiler.baseline =
      Baseline{"NVRTC", Summary::Of(std::move(alone), Better::kLess)};
  bench.Add(std::move(compiler));
  return value;
}

// All send the same new source at once.
absl::Status MeasureShared(Bench& bench, const Summary& alone) {
  Figure shared = MakeFigure("the same new one for 32 clients, the last", "µs");
  shared.baseline = Baseline{"new", alone};
  std::vector<double> samples;
  for (int round = 0; round < (bench.quick() ? 3 : 9); ++round) {
    const std::string source = FreshSource();
    std::atomic<int> made = 0;
    HOLDFAST_ASSIGN_OR_RETURN(
        const double last,
        MicrosecondsAtOnce(bench.daemon()->address().text,
                           [&source, &made](Daemon& daemon) {
                             const auto answer = Compile(daemon, source);
                             if (answer.ok() && !answer->cache_hit) ++made;
                             return answer.status();
                           }));
    if (made != 1) {
      return absl::InternalError(
          absl::StrCat(made.load(), " compilations of one"));
    }
    samples.push_back(last);
  }
  shared.value = Summary::Of(std::move(samples), Better::kLess);
  bench.Add(std::move(shared).ReachingRatio(1.2));
  return absl::OkStatus();
}

// A directory that is removed in the end.
class ScratchDirectory {
 public:
  ScratchDirectory() : path_("/tmp/holdfast-bench-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A private daemon that only compiles.
absl::StatusOr<std::shared_ptr<Daemon>> StartDaemon(
    const std::string& cache_directory, unsigned workers) {
  return Daemon::Connect(absl::StrCat(
      "embedded:device=cpu,warm-executors=0,cache-directory=", cache_directory,
      ",compiler-workers=", workers));
}

// The same, once its compiler is loaded.
absl::StatusOr<std::shared_ptr<Daemon>> StartDaemonAndCompiler(
    const std::string& cache_directory, unsigned workers) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, StartDaemon(cache_directory, workers));
  while (true) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto info, daemon->Info());
    if (!info.compiler().empty()) return daemon;
    absl::SleepFor(absl::Milliseconds(10));
  }
}

// How long the daemon takes to find it on disk.
absl::StatusOr<double> DiskHitMicroseconds(Daemon& daemon,
                                           const std::string& source) {
  const Stopwatch watch;
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation found, Compile(daemon, source));
  const double microseconds = watch.Microseconds();
  if (found.cache_tier == v1::CACHE_TIER_DISK) return microseconds;
  return absl::InternalError("a program was not found on disk");
}

void AddDiskHits(Bench& bench, std::string name, std::vector<double> samples) {
  Figure hit = MakeFigure(std::move(name), "µs");
  hit.value = Summary::Of(std::move(samples), Better::kLess);
  bench.Add(std::move(hit).Reaching(1000, "< 1 ms"));
}

// The first call of daemons that have only just started, on a connection that
// is there, and from connecting to the answer.
absl::Status MeasureFirstCalls(Bench& bench, const std::string& cache,
                               const std::string& source) {
  std::vector<double> open, connecting;
  for (int start = 0; start < (bench.quick() ? 2 : 7); ++start) {
    HOLDFAST_ASSIGN_OR_RETURN(const auto daemon, StartDaemon(cache, 1));
    HOLDFAST_ASSIGN_OR_RETURN(open.emplace_back(),
                              DiskHitMicroseconds(*daemon, source));
    HOLDFAST_ASSIGN_OR_RETURN(const auto other, StartDaemon(cache, 1));
    const Stopwatch watch;
    HOLDFAST_ASSIGN_OR_RETURN(const auto second,
                              Daemon::Connect(other->address().text));
    HOLDFAST_RETURN_IF_ERROR(DiskHitMicroseconds(*second, source).status());
    connecting.push_back(watch.Microseconds());
  }
  AddDiskHits(bench, "the same, the first call of a new daemon",
              std::move(open));
  Figure figure = MakeFigure("the same, with connecting to it", "µs");
  figure.value = Summary::Of(std::move(connecting), Better::kLess);
  bench.Add(std::move(figure));
  return absl::OkStatus();
}

// Each program is asked for once, by a daemon that did not compile it; and the
// first one of several that have only just started.
absl::Status MeasureDiskHits(Bench& bench) {
  const ScratchDirectory cache;
  std::vector<std::string> sources(
      static_cast<size_t>(Compilations(bench.quick())));
  {
    HOLDFAST_ASSIGN_OR_RETURN(const auto daemon,
                              StartDaemonAndCompiler(cache.path(), 1));
    for (std::string& source : sources) {
      source = FreshSource();
      HOLDFAST_RETURN_IF_ERROR(Compile(*daemon, source).status());
    }
  }
  std::vector<double> samples;
  {
    HOLDFAST_ASSIGN_OR_RETURN(const auto daemon,
                              StartDaemonAndCompiler(cache.path(), 1));
    for (const std::string& source : sources) {
      HOLDFAST_ASSIGN_OR_RETURN(samples.emplace_back(),
                                DiskHitMicroseconds(*daemon, source));
    }
  }
  AddDiskHits(bench, "compiled before a restart, on disk", std::move(samples));
  return MeasureFirstCalls(bench, cache.path(), sources.front());
}

// New programs a second, from all clients at once.
absl::StatusOr<Summary> NewPrograms(unsigned workers, int rounds) {
  const ScratchDirectory cache;
  HOLDFAST_ASSIGN_OR_RETURN(const auto daemon,
                            StartDaemonAndCompiler(cache.path(), workers));
  std::vector<double> samples;
  for (int round = -1; round < rounds; ++round) {  // the first starts workers
    HOLDFAST_ASSIGN_OR_RETURN(
        const double microseconds,
        MicrosecondsAtOnce(daemon->address().text, [](Daemon& connection) {
          return Compile(connection, FreshSource()).status();
        }));
    if (round >= 0) samples.push_back(1e6 * kClients / microseconds);
  }
  return Summary::Of(std::move(samples), Better::kMore);
}

absl::Status MeasureParallel(Bench& bench) {
  const unsigned workers =
      std::clamp(std::thread::hardware_concurrency(), 2u, kMaxWorkers);
  const int rounds = bench.quick() ? 1 : 3;
  Figure parallel =
      MakeFigure(absl::StrCat("32 new ones at once, ", workers, " workers"),
                 "/s", Better::kMore);
  HOLDFAST_ASSIGN_OR_RETURN(const Summary alone, NewPrograms(1, rounds));
  parallel.baseline = Baseline{"1 worker", alone};
  HOLDFAST_ASSIGN_OR_RETURN(parallel.value, NewPrograms(workers, rounds));
  bench.Add(std::move(parallel).ReachingRatio(0.6 * workers));
  return absl::OkStatus();
}

}  // namespace

absl::Status MeasureCompiling(Bench& bench) {
  HOLDFAST_RETURN_IF_ERROR(MeasureMemoryHits(bench));
  HOLDFAST_ASSIGN_OR_RETURN(const Summary alone, MeasureNew(bench));
  HOLDFAST_RETURN_IF_ERROR(MeasureShared(bench, alone));
  HOLDFAST_RETURN_IF_ERROR(MeasureDiskHits(bench));
  return MeasureParallel(bench);
}

}  // namespace holdfast::bench
