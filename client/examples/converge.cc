// SPDX-License-Identifier: Apache-2.0
//
// A loop that ends on the device: Newton's method for square roots, as the body
// of a while node. The last kernel says whether any number still moves.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
// One step for each number; counts those that it moved by more than rounding.
extern "C" __global__ void step(const double* numbers, double* roots,
                                unsigned* moved) {
  unsigned i = threadIdx.x + blockIdx.x * blockDim.x;
  double before = roots[i], after = 0.5 * (before + numbers[i] / before);
  roots[i] = after;
  if (fabs(after - before) > 1e-14 * after) atomicAdd(moved, 1u);
}
extern "C" __global__ void decide(cudaGraphConditionalHandle more,
                                  unsigned* moved) {
  cudaGraphSetConditional(more, *moved != 0);
}
)";
constexpr uint32_t kCount = 1024;
constexpr uint64_t kBytes = kCount * sizeof(double);

absl::Status Run(const Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            CompileAndLoad(session, kSource));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel step, module.GetKernel("step"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel decide, module.GetKernel("decide"));
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer numbers, device.Allocate(kBytes));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer roots, device.Allocate(kBytes));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer moved, device.Allocate(4));

  // while (more) { moved = 0; step(); decide(); }, with more = 1 at a launch.
  GraphDefinition definition, body;
  const GraphCondition more = definition.CreateCondition(1);
  HOLDFAST_ASSIGN_OR_RETURN(auto reset, body.Add(FillNode(moved, 0u)));
  HOLDFAST_ASSIGN_OR_RETURN(
      const GraphNode move,
      body.Add(KernelNode({.grid = kCount / 256, .block = 256}, step, numbers,
                          roots, moved),
               {reset}));
  HOLDFAST_RETURN_IF_ERROR(
      body.Add(KernelNode({}, decide, more, moved), {move}).status());
  HOLDFAST_ASSIGN_OR_RETURN(const GraphNode guess,
                            definition.Add(CopyNode(roots, numbers)));
  HOLDFAST_RETURN_IF_ERROR(
      definition.Add(WhileNode(more, body), {guess}).status());
  std::printf("%s", ToString(definition).c_str());
  HOLDFAST_ASSIGN_OR_RETURN(auto graph, Graph::Create(session, definition));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, graph.Instantiate());

  std::vector<double> input(kCount), found(kCount);
  for (uint32_t i = 0; i < kCount; ++i) input[i] = 1.0 + i * i;
  HOLDFAST_RETURN_IF_ERROR(numbers.Upload(input, stream));
  HOLDFAST_RETURN_IF_ERROR(exec.Launch(stream));
  HOLDFAST_RETURN_IF_ERROR(roots.Download(found, stream));
  return CheckAll("converged", kCount, [&](size_t i) {
    return std::abs(found[i] - std::sqrt(input[i])) <= 1e-12 * found[i];
  });
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Example example("converge: a loop that the device ends");
  return example.Main(argc, argv, holdfast::Run);
}
