// SPDX-License-Identifier: Apache-2.0
//
// A pipeline over three streams, captured once and launched as one operation:
// each launch makes new samples, looks at them in three ways at once, and joins
// the three results.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "client/cpp/compile/program.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/graph_text.h"
#include "client/cpp/graph/stream_capture.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
// The next numbers of a generator for each element.
extern "C" __global__ void sample(unsigned* x) {
  unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
  x[i] = x[i] * 1664525u + 1013904223u;
}
extern "C" __global__ void add(const unsigned* x, unsigned* sum) {
  atomicAdd(sum, x[threadIdx.x + blockIdx.x * blockDim.x] >> 16);
}
extern "C" __global__ void largest(const unsigned* x, unsigned* most) {
  atomicMax(most, x[threadIdx.x + blockIdx.x * blockDim.x]);
}
extern "C" __global__ void odd(const unsigned* x, unsigned* count) {
  atomicAdd(count, x[threadIdx.x + blockIdx.x * blockDim.x] >> 16 & 1);
}
// results[0] counts launches; the three others are for the last one.
extern "C" __global__ void join(const unsigned* sum, const unsigned* most,
                                const unsigned* count, unsigned* results) {
  results[0] += 1;
  results[1] = *sum;
  results[2] = *most;
  results[3] = *count;
}
)";
constexpr uint32_t kCount = 4096;
constexpr uint32_t kLaunches = 100;

// The result that the last of `launches` launches should have.
std::vector<uint32_t> Expect(std::vector<uint32_t> x, uint32_t launches) {
  for (uint32_t i = 0; i < launches; ++i) {
    for (uint32_t& number : x) number = number * 1664525u + 1013904223u;
  }
  std::vector<uint32_t> results = {launches, 0, 0, 0};
  for (const uint32_t number : x) {
    results[1] += number >> 16;
    results[2] = std::max(results[2], number);
    results[3] += number >> 16 & 1;
  }
  return results;
}

struct Kernels {
  Kernel sample, add, largest, odd, join;
};

absl::StatusOr<Kernels> Load(const Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compilation,
                            Program(kSource).Compile(session.daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session.Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel sample, module.GetKernel("sample"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel add, module.GetKernel("add"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel largest, module.GetKernel("largest"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel odd, module.GetKernel("odd"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel join, module.GetKernel("join"));
  return Kernels{sample, add, largest, odd, join};
}

// The kernel over all elements, with its result set to 0 before.
absl::Status Reduce(const Stream& stream, const Kernel& kernel, const Buffer& x,
                    const Buffer& result) {
  HOLDFAST_RETURN_IF_ERROR(result.Fill(uint32_t{0}, stream));
  return Launch(stream, {.grid = kCount / 256, .block = 256}, kernel, x,
                result);
}

absl::Status Run(const std::string& address, bool dot) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = address, .name = "captured_pipeline"}));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernels kernels, Load(*session));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream main, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Stream left, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Stream right, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer x, device.Allocate(4 * kCount));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer sum, device.Allocate(4));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer most, device.Allocate(4));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer count, device.Allocate(4));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer results, device.Allocate(16));

  // Ordinary calls: between Begin and End they are recorded, not carried out.
  HOLDFAST_ASSIGN_OR_RETURN(StreamCapture capture, StreamCapture::Begin(main));
  HOLDFAST_RETURN_IF_ERROR(
      Launch(main, {.grid = kCount / 256, .block = 256}, kernels.sample, x));
  HOLDFAST_RETURN_IF_ERROR(left.Wait(main));  // forks
  HOLDFAST_RETURN_IF_ERROR(right.Wait(main));
  HOLDFAST_RETURN_IF_ERROR(Reduce(main, kernels.add, x, sum));
  HOLDFAST_RETURN_IF_ERROR(Reduce(left, kernels.largest, x, most));
  HOLDFAST_RETURN_IF_ERROR(Reduce(right, kernels.odd, x, count));
  HOLDFAST_RETURN_IF_ERROR(main.Wait(left));  // joins
  HOLDFAST_RETURN_IF_ERROR(main.Wait(right));
  HOLDFAST_RETURN_IF_ERROR(Launch(main, {.grid = 1, .block = 1}, kernels.join,
                                  sum, most, count, results));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphDefinition definition, capture.End());
  GraphNames names;
  names.kernels = {{kernels.sample.handle(), "sample"},
                   {kernels.add.handle(), "add"},
                   {kernels.largest.handle(), "largest"},
                   {kernels.odd.handle(), "odd"},
                   {kernels.join.handle(), "join"}};
  names.buffers = {{x.handle(), "x"},
                   {sum.handle(), "sum"},
                   {most.handle(), "most"},
                   {count.handle(), "count"},
                   {results.handle(), "results"}};
  if (dot) {
    std::printf("%s", ToDot(definition, names, "captured_pipeline").c_str());
    return absl::OkStatus();
  }
  std::printf("%s", ToString(definition, names).c_str());

  HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
                            Graph::Create(*session, definition));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, graph.Instantiate());

  std::vector<uint32_t> seeds(kCount), found(4);
  for (uint32_t i = 0; i < kCount; ++i) seeds[i] = i;
  HOLDFAST_RETURN_IF_ERROR(x.Upload(seeds, main));
  HOLDFAST_RETURN_IF_ERROR(results.Fill(uint32_t{0}, main));
  for (uint32_t i = 0; i < kLaunches; ++i) {
    HOLDFAST_RETURN_IF_ERROR(exec.Launch(main));
  }
  HOLDFAST_RETURN_IF_ERROR(results.Download(found, main));
  std::printf("after %u launches: sum %u, largest %u, %u odd\n", found[0],
              found[1], found[2], found[3]);
  return found == Expect(seeds, kLaunches)
             ? absl::OkStatus()
             : absl::DataLossError("wrong results");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string address;
  CLI::App app("captured_pipeline: three streams as one graph");
  app.add_option("--address", address, "Where the daemon is");
  bool dot = false;
  app.add_flag("--dot", dot, "Print the graph as DOT instead of running it");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(address, dot);
  if (!status.ok()) {
    std::fprintf(
        stderr, "captured_pipeline: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
