// SPDX-License-Identifier: Apache-2.0
//
// A loop that ends on the device: Newton's method for the square roots of many
// numbers, as the body of a while node. The last kernel of the body says by a
// condition of the graph whether any number still moves; no byte comes to the
// client before the end.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "client/cpp/compile/program.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/graph_text.h"
#include "client/cpp/graph/nested_nodes.h"
#include "client/cpp/session.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
extern "C" __device__ __cudart_builtin__ void CUDARTAPI
cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value);

// One step for each number; counts those that it moved by more than rounding.
extern "C" __global__ void step(const double* numbers, double* roots,
                                unsigned* moved) {
  unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
  double before = roots[i];
  double after = 0.5 * (before + numbers[i] / before);
  roots[i] = after;
  double change = after > before ? after - before : before - after;
  if (change > 1e-14 * after) atomicAdd(moved, 1u);
}
extern "C" __global__ void decide(cudaGraphConditionalHandle more,
                                  unsigned* moved, unsigned* steps) {
  *steps += 1;
  cudaGraphSetConditional(more, *moved != 0 && *steps < 1000 ? 1 : 0);
}
)";
constexpr uint32_t kCount = 1024;
constexpr uint64_t kBytes = kCount * sizeof(double);

absl::Status Run(const std::string& address) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = address, .name = "converge"}));
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compilation,
                            Program(kSource).Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel step, module.GetKernel("step"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel decide, module.GetKernel("decide"));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer numbers, device.Allocate(kBytes));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer roots, device.Allocate(kBytes));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer moved, device.Allocate(4));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer steps, device.Allocate(4));

  // while (more) { moved = 0; step(); decide(); }, with more = 1 at each
  // launch.
  GraphDefinition definition, body;
  const GraphCondition more = definition.CreateCondition(1);
  HOLDFAST_ASSIGN_OR_RETURN(const GraphNode reset,
                            body.Add(FillNode(moved, uint32_t{0})));
  HOLDFAST_ASSIGN_OR_RETURN(
      const GraphNode move,
      body.Add(KernelNode({.grid = kCount / 256, .block = 256}, step, numbers,
                          roots, moved),
               {reset}));
  HOLDFAST_RETURN_IF_ERROR(
      body.Add(KernelNode({.grid = 1, .block = 1}, decide, more, moved, steps),
               {move})
          .status());
  HOLDFAST_ASSIGN_OR_RETURN(const GraphNode start,
                            definition.Add(FillNode(steps, uint32_t{0})));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphNode guess,
                            definition.Add(CopyNode(roots, numbers)));
  HOLDFAST_RETURN_IF_ERROR(
      definition.Add(WhileNode(more, body), {start, guess}).status());
  std::printf("%s", ToString(definition).c_str());
  HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
                            Graph::Create(*session, definition));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, graph.Instantiate());

  std::vector<double> input(kCount), found(kCount);
  for (uint32_t i = 0; i < kCount; ++i) input[i] = 1.0 + i * i;
  HOLDFAST_RETURN_IF_ERROR(numbers.Upload(input, stream));
  HOLDFAST_RETURN_IF_ERROR(exec.Launch(stream));
  HOLDFAST_RETURN_IF_ERROR(roots.Download(found, stream));
  std::vector<uint32_t> count(1);
  HOLDFAST_RETURN_IF_ERROR(steps.Download(count, stream));

  size_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i) {
    wrong += std::abs(found[i] - std::sqrt(input[i])) > 1e-12 * found[i];
  }
  std::printf("converged after %u steps, %zu of %u right\n", count[0],
              kCount - wrong, kCount);
  if (wrong > 0 || count[0] < 2 || count[0] == 1000) {
    return absl::DataLossError("wrong roots, or no end");
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string address;
  CLI::App app("converge: a loop that the device ends");
  app.add_option("--address", address, "Where the daemon is");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(address);
  if (!status.ok()) {
    std::fprintf(
        stderr, "converge: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
