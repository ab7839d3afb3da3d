// SPDX-License-Identifier: Apache-2.0
//
// A graph that changes between launches without being made again: one node's
// arguments, a node that is left out for a while, and everything at once.
#include <cstdint>
#include <vector>

#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void scale(float* x, float factor) {
  x[threadIdx.x] *= factor;
}
extern "C" __global__ void shift(float* x, float by) { x[threadIdx.x] += by; }
)";
constexpr uint32_t kCount = 256;
const LaunchConfig kConfig = {.grid = 1, .block = kCount};

// Launches; every element has to be `expected`.
absl::Status LaunchAndCheck(const char* what, const GraphExec& exec,
                            const Stream& stream, const Buffer& x,
                            float expected) {
  HOLDFAST_RETURN_IF_ERROR(exec.Launch(stream));
  std::vector<float> found(kCount);
  HOLDFAST_RETURN_IF_ERROR(x.Download(found, stream));
  return CheckAll(what, kCount, [&](size_t i) { return found[i] == expected; });
}

absl::Status Run(const Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            CompileAndLoad(session, kSource));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel scale, module.GetKernel("scale"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel shift, module.GetKernel("shift"));
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer x, device.Allocate(4 * kCount));

  // x = 1, then x *= 2, then x += 5.
  GraphDefinition steps;
  HOLDFAST_ASSIGN_OR_RETURN(const GraphNode one, steps.Add(FillNode(x, 1.0f)));
  HOLDFAST_ASSIGN_OR_RETURN(
      const GraphNode two,
      steps.Add(KernelNode(kConfig, scale, x, 2.0f), {one}));
  HOLDFAST_ASSIGN_OR_RETURN(
      const GraphNode three,
      steps.Add(KernelNode(kConfig, shift, x, 5.0f), {two}));
  HOLDFAST_ASSIGN_OR_RETURN(const Graph graph, Graph::Create(session, steps));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, graph.Instantiate());
  HOLDFAST_RETURN_IF_ERROR(LaunchAndCheck("1 * 2 + 5", exec, stream, x, 7.0f));

  HOLDFAST_RETURN_IF_ERROR(
      exec.Update(two, KernelNode(kConfig, scale, x, 10.0f)));
  HOLDFAST_RETURN_IF_ERROR(
      LaunchAndCheck("another factor, 1 * 10 + 5", exec, stream, x, 15.0f));

  HOLDFAST_RETURN_IF_ERROR(exec.SetEnabled(three, false));
  HOLDFAST_RETURN_IF_ERROR(
      LaunchAndCheck("without the shift, 1 * 10", exec, stream, x, 10.0f));
  HOLDFAST_RETURN_IF_ERROR(exec.SetEnabled(three, true));

  // From the same nodes with other arguments.
  HOLDFAST_RETURN_IF_ERROR(steps.Set(two, KernelNode(kConfig, scale, x, 3.0f)));
  HOLDFAST_ASSIGN_OR_RETURN(const Graph other, Graph::Create(session, steps));
  HOLDFAST_RETURN_IF_ERROR(exec.Update(other));
  return LaunchAndCheck("everything, 1 * 3 + 5", exec, stream, x, 8.0f);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Example example("update_graph: a graph that changes");
  return example.Main(argc, argv, holdfast::Run);
}
