// SPDX-License-Identifier: Apache-2.0
//
// A session that outlives the faults of its own kernels. Buffers are filled, a
// graph is made, and a kernel then stores where no memory is. Its process is
// ruined, as any CUDA process would be; the session goes on in another one: the
// handles are the same, every byte is right, and the graph can be launched.
// Prints how long each recovery took.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/fault.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/program.h"
#include "client/cpp/session.h"
#include "core/base/status_macros.h"

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
  uint32_t faults = 3;
  double pause = 0;  // seconds before each
};

class Survivor {
 public:
  explicit Survivor(const Options& options) : options_(options) {}

  absl::Status Run() {
    HOLDFAST_RETURN_IF_ERROR(SetUp());
    for (uint32_t i = 1; i <= options_.faults; ++i) {
      absl::SleepFor(absl::Seconds(options_.pause));
      HOLDFAST_RETURN_IF_ERROR(Fault(i));
      HOLDFAST_RETURN_IF_ERROR(CheckBytes());
      HOLDFAST_RETURN_IF_ERROR(CheckGraph(i));
    }
    return absl::OkStatus();
  }

 private:
  uint64_t BytesEach() const {
    return (options_.megabytes << 20) / options_.buffers / 4 * 4;
  }

  absl::Status SetUp() {
    HOLDFAST_ASSIGN_OR_RETURN(
        session_,
        Session::Open({.address = options_.address, .name = "survive"}));
    HOLDFAST_ASSIGN_OR_RETURN(const Compilation compiled,
                              Program(kSource).Compile(session_->daemon()));
    HOLDFAST_ASSIGN_OR_RETURN(module_, session_->Load(compiled.object));
    HOLDFAST_ASSIGN_OR_RETURN(stream_, session_->device(0).CreateStream());
    for (uint32_t i = 0; i < options_.buffers; ++i) {
      HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer,
                                session_->device(0).Allocate(BytesEach()));
      HOLDFAST_RETURN_IF_ERROR(buffer.Fill(i + 1, *stream_));
      buffers_.push_back(std::move(buffer));
    }
    HOLDFAST_ASSIGN_OR_RETURN(counter_, session_->device(0).Allocate(64 * 4));
    HOLDFAST_RETURN_IF_ERROR(counter_->Fill(uint32_t{0}, *stream_));
    HOLDFAST_RETURN_IF_ERROR(MakeGraph());
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
    HOLDFAST_ASSIGN_OR_RETURN(graph_, graph.Instantiate());
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

  // The graph that was made before the first fault has run once a fault.
  absl::Status CheckGraph(uint32_t launches) {
    HOLDFAST_RETURN_IF_ERROR(graph_->Launch(*stream_));
    std::vector<uint32_t> counted(64);
    HOLDFAST_RETURN_IF_ERROR(counter_->Download(counted, *stream_));
    if (counted[63] == launches) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("the graph has counted to ",
                                            counted[63], " of ", launches));
  }

  const Options options_;
  std::unique_ptr<Session> session_;
  std::optional<Module> module_;
  std::optional<Stream> stream_;
  std::optional<Buffer> counter_;
  std::vector<Buffer> buffers_;
  std::optional<GraphExec> graph_;
};

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Options options;
  CLI::App app("survive: faults on purpose, and goes on");
  app.add_option("--address", options.address, "Where the daemon is");
  app.add_option("--megabytes", options.megabytes, "Device memory to fill")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--buffers", options.buffers, "In so many buffers")
      ->check(CLI::Range(1, 1024));
  app.add_option("--faults", options.faults, "So many faults");
  app.add_option("--pause", options.pause, "Seconds before each fault");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Survivor(options).Run();
  if (!status.ok()) {
    std::fprintf(
        stderr, "survive: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
