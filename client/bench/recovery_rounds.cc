// SPDX-License-Identifier: Apache-2.0
//
// Measures recoveries: fills buffers, makes graphs, and then commits one fault
// after the other. After each fault, every byte must be right and the graphs
// must be launchable. Prints how long each recovery took, and with --neighbour
// the rate of another session's launches beside it.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/fault.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/session.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void stray(unsigned* x) {
  x[1ull << 40] = threadIdx.x;
}
// Counts the words that are not as they should be.
extern "C" __global__ void check(const unsigned* x, unsigned long long count,
                                 unsigned value, unsigned long long* wrong) {
  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
  unsigned long long step = gridDim.x * (unsigned long long)blockDim.x;
  for (; i < count; i += step)
    if (x[i] != value) atomicAdd(wrong, 1ull);
}
extern "C" __global__ void bump(unsigned* x) { x[threadIdx.x] += 1; }
)";

struct Options {
  std::string address;
  uint64_t megabytes = 64;
  uint32_t buffers = 8;
  uint32_t modules = 1;
  uint32_t streams = 1;
  uint32_t graphs = 1;
  uint32_t faults = 3;
  double pause = 0;  // seconds before each
  bool neighbour = false;
};

// Another session, which launches kernels all the time and counts them.
class Neighbour {
 public:
  static absl::StatusOr<std::unique_ptr<Neighbour>> Start(
      const std::string& address) {
    std::unique_ptr<Neighbour> neighbour(new Neighbour);
    HOLDFAST_ASSIGN_OR_RETURN(
        neighbour->session_,
        Session::Open({.address = address, .name = "neighbour"}));
    const Device device = neighbour->session_->device(0);
    HOLDFAST_ASSIGN_OR_RETURN(
        const Compilation compiled,
        Program(kSource).Compile(neighbour->session_->daemon()));
    HOLDFAST_ASSIGN_OR_RETURN(neighbour->module_,
                              neighbour->session_->Load(compiled.object));
    HOLDFAST_ASSIGN_OR_RETURN(neighbour->stream_, device.CreateStream());
    HOLDFAST_ASSIGN_OR_RETURN(neighbour->counter_, device.Allocate(64 * 4));
    HOLDFAST_RETURN_IF_ERROR(
        neighbour->counter_->Fill(uint32_t{0}, *neighbour->stream_));
    neighbour->thread_ =
        std::thread([n = neighbour.get()] { n->outcome_ = n->Work(); });
    return neighbour;
  }
  ~Neighbour() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // Launches that were completed since `since`, in each part of the second
  // that began then. Blocks until it is over.
  static constexpr int kParts = 10;
  std::array<uint64_t, kParts> Second(absl::Time since) {
    std::array<uint64_t, kParts> parts = {};
    uint64_t before = launches_;
    for (int i = 0; i < kParts; ++i) {
      absl::SleepFor(since + absl::Seconds(i + 1) / kParts - absl::Now());
      const uint64_t now = launches_;
      parts[static_cast<size_t>(i)] = now - before;
      before = now;
    }
    return parts;
  }

  // Why it has stopped; and whether each launch has counted once.
  absl::Status Finish() {
    stop_ = true;
    thread_.join();
    HOLDFAST_RETURN_IF_ERROR(outcome_);
    std::vector<uint32_t> counted(64);
    HOLDFAST_RETURN_IF_ERROR(counter_->Download(counted, *stream_));
    if (counted[63] == static_cast<uint32_t>(launches_)) {
      return absl::OkStatus();
    }
    return absl::DataLossError(absl::StrCat("the neighbour has counted to ",
                                            counted[63], " of ",
                                            launches_.load()));
  }

 private:
  static constexpr uint64_t kBatch = 100;

  Neighbour() = default;

  absl::Status Work() {
    HOLDFAST_ASSIGN_OR_RETURN(const Kernel bump, module_->GetKernel("bump"));
    while (!stop_) {
      for (uint64_t i = 0; i < kBatch; ++i) {
        HOLDFAST_RETURN_IF_ERROR(
            Launch(*stream_, {.grid = 1, .block = 64}, bump, *counter_));
      }
      HOLDFAST_RETURN_IF_ERROR(stream_->Synchronize());
      launches_ += kBatch;
    }
    return absl::OkStatus();
  }

  std::unique_ptr<Session> session_;
  std::optional<Module> module_;
  std::optional<Stream> stream_;
  std::optional<Buffer> counter_;
  std::atomic<uint64_t> launches_{0};
  std::atomic<bool> stop_{false};
  absl::Status outcome_;
  std::thread thread_;
};

class Survivor {
 public:
  explicit Survivor(const Options& options) : options_(options) {}

  absl::Status Run() {
    HOLDFAST_RETURN_IF_ERROR(SetUp());
    if (options_.neighbour) {
      HOLDFAST_ASSIGN_OR_RETURN(neighbour_, Neighbour::Start(options_.address));
    }
    for (uint32_t i = 1; i <= options_.faults; ++i) {
      absl::SleepFor(absl::Seconds(options_.pause));
      HOLDFAST_RETURN_IF_ERROR(FaultBesideNeighbour(i));
      HOLDFAST_RETURN_IF_ERROR(CheckBytes());
      HOLDFAST_RETURN_IF_ERROR(CheckGraphs(i));
    }
    return neighbour_ == nullptr ? absl::OkStatus() : neighbour_->Finish();
  }

 private:
  uint64_t BytesEach() const {
    return (options_.megabytes << 20) / options_.buffers / 4 * 4;
  }

  absl::Status SetUp() {
    HOLDFAST_ASSIGN_OR_RETURN(session_,
                              Session::Open({.address = options_.address,
                                             .name = "recovery_rounds"}));
    HOLDFAST_ASSIGN_OR_RETURN(const Compilation compiled,
                              Program(kSource).Compile(session_->daemon()));
    HOLDFAST_ASSIGN_OR_RETURN(module_, session_->Load(compiled.object));
    HOLDFAST_ASSIGN_OR_RETURN(stream_, session_->device(0).CreateStream());
    for (uint32_t i = 1; i < options_.modules; ++i) {
      HOLDFAST_ASSIGN_OR_RETURN(Module module, session_->Load(compiled.object));
      more_modules_.push_back(std::move(module));
    }
    for (uint32_t i = 1; i < options_.streams; ++i) {
      HOLDFAST_ASSIGN_OR_RETURN(Stream stream,
                                session_->device(0).CreateStream());
      more_streams_.push_back(std::move(stream));
    }
    for (uint32_t i = 0; i < options_.buffers; ++i) {
      HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer,
                                session_->device(0).Allocate(BytesEach()));
      HOLDFAST_RETURN_IF_ERROR(buffer.Fill(i + 1, *stream_));
      buffers_.push_back(std::move(buffer));
    }
    HOLDFAST_ASSIGN_OR_RETURN(counter_, session_->device(0).Allocate(64 * 4));
    HOLDFAST_RETURN_IF_ERROR(counter_->Fill(uint32_t{0}, *stream_));
    for (uint32_t i = 0; i < options_.graphs; ++i) {
      HOLDFAST_RETURN_IF_ERROR(MakeGraph());
    }
    return stream_->Synchronize();
  }

  absl::Status MakeGraph() {
    HOLDFAST_ASSIGN_OR_RETURN(const Kernel bump, module_->GetKernel("bump"));
    GraphDefinition definition;
    HOLDFAST_RETURN_IF_ERROR(
        definition.Add(KernelNode({.grid = 1, .block = 64}, bump, *counter_))
            .status());
    HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
                              Graph::Create(*session_, definition));
    HOLDFAST_ASSIGN_OR_RETURN(GraphExec exec, graph.Instantiate());
    graphs_.push_back(std::move(exec));
    return absl::OkStatus();
  }

  // The fault, between a second of the neighbour's without one and the second
  // that begins with it.
  absl::Status FaultBesideNeighbour(uint32_t number) {
    if (neighbour_ == nullptr) return Fault(number);
    const auto before = neighbour_->Second(absl::Now());
    absl::Status outcome;
    std::thread fault([&] { outcome = Fault(number); });
    const auto during = neighbour_->Second(absl::Now());
    fault.join();
    HOLDFAST_RETURN_IF_ERROR(outcome);
    uint64_t calm = 0, shared = 0;
    for (const uint64_t part : before) calm += part;
    for (const uint64_t part : during) shared += part;
    std::printf(
        "  neighbour: %llu launches in the second before, %llu in that of the "
        "fault (%.3f), at least %llu in a tenth\n",
        static_cast<unsigned long long>(calm),
        static_cast<unsigned long long>(shared),
        calm == 0 ? 0.0
                  : static_cast<double>(shared) / static_cast<double>(calm),
        static_cast<unsigned long long>(
            *std::min_element(during.begin(), during.end())));
    return absl::OkStatus();
  }

  // Commits a fault and waits until the session is ready again.
  absl::Status Fault(uint32_t number) {
    HOLDFAST_ASSIGN_OR_RETURN(const Kernel stray, module_->GetKernel("stray"));
    const absl::Time begin = absl::Now();
    HOLDFAST_RETURN_IF_ERROR(
        Launch(*stream_, {.grid = 1, .block = 32}, stray, *counter_));
    const absl::Status status = stream_->Synchronize();
    const auto report = FaultOf(status);
    if (!report.has_value()) {
      return status.ok() ? absl::DataLossError("no fault") : status;
    }
    HOLDFAST_RETURN_IF_ERROR(stream_->Synchronize());
    if (number == 1) std::printf("%s\n", DescribeFault(*report).c_str());
    std::printf("fault %u: ready again in %s\n", number,
                absl::FormatDuration(
                    absl::Trunc(absl::Now() - begin, absl::Microseconds(10)))
                    .c_str());
    return absl::OkStatus();
  }

  absl::Status CheckBytes() {
    HOLDFAST_ASSIGN_OR_RETURN(const Kernel check, module_->GetKernel("check"));
    HOLDFAST_ASSIGN_OR_RETURN(const Buffer wrong,
                              session_->device(0).Allocate(8));
    HOLDFAST_RETURN_IF_ERROR(wrong.Fill(uint32_t{0}, *stream_));
    for (uint32_t i = 0; i < options_.buffers; ++i) {
      HOLDFAST_RETURN_IF_ERROR(Launch(*stream_, {.grid = 64, .block = 256},
                                      check, buffers_[i], BytesEach() / 4,
                                      i + 1, wrong));
    }
    std::vector<uint64_t> count(1);
    HOLDFAST_RETURN_IF_ERROR(wrong.Download(count, *stream_));
    std::printf("  %u buffers, %llu bytes: %llu words wrong\n",
                options_.buffers,
                static_cast<unsigned long long>(BytesEach()) * options_.buffers,
                static_cast<unsigned long long>(count[0]));
    if (count[0] == 0) return absl::OkStatus();
    return absl::DataLossError("bytes have changed");
  }

  // The graphs that were made before the first fault have run once a fault.
  absl::Status CheckGraphs(uint32_t faults) {
    for (const GraphExec& graph : graphs_) {
      HOLDFAST_RETURN_IF_ERROR(graph.Launch(*stream_));
    }
    std::vector<uint32_t> counted(64);
    HOLDFAST_RETURN_IF_ERROR(counter_->Download(counted, *stream_));
    for (const Stream& stream : more_streams_) {
      HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
    }
    const uint32_t launches = faults * options_.graphs;
    if (counted[63] == launches) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("the graphs have counted to ",
                                            counted[63], " of ", launches));
  }

  const Options options_;
  std::unique_ptr<Session> session_;
  std::optional<Module> module_;
  std::optional<Stream> stream_;
  std::optional<Buffer> counter_;
  std::vector<Buffer> buffers_;
  std::vector<Module> more_modules_;
  std::vector<Stream> more_streams_;
  std::vector<GraphExec> graphs_;
  std::unique_ptr<Neighbour> neighbour_;
};

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Options options;
  CLI::App app("recovery_rounds: faults on purpose, and what each costs");
  app.add_option("--address", options.address, "Where the daemon is");
  app.add_option("--megabytes", options.megabytes, "Device memory to fill")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--buffers", options.buffers, "In so many buffers")
      ->check(CLI::Range(1, 1024));
  app.add_option("--modules", options.modules, "Modules to load")
      ->check(CLI::Range(1, 1024));
  app.add_option("--streams", options.streams, "Streams to make")
      ->check(CLI::Range(1, 1024));
  app.add_option("--graphs", options.graphs, "Graphs to launch after a fault")
      ->check(CLI::Range(1, 1024));
  app.add_flag("--neighbour", options.neighbour,
               "Launch kernels in another session meanwhile, and count them");
  app.add_option("--faults", options.faults, "So many faults");
  app.add_option("--pause", options.pause, "Seconds before each fault");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Survivor(options).Run();
  if (!status.ok()) {
    std::fprintf(
        stderr, "recovery_rounds: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
