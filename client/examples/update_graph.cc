// SPDX-License-Identifier: Apache-2.0
//
// A graph that changes between launches without being made again: other
// arguments for one node, a node that is left out for a while, and everything
// at once from a second definition.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "client/cpp/holdfast.h"
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

// x = 1, then x *= factor, then x += by.
struct Steps {
  GraphDefinition definition;
  GraphNode scale, shift;
};

absl::StatusOr<Steps> Define(const Kernel& scale, const Kernel& shift,
                             const Buffer& x, float factor, float by) {
  Steps steps;
  HOLDFAST_ASSIGN_OR_RETURN(const GraphNode start,
                            steps.definition.Add(FillNode(x, 1.0f)));
  HOLDFAST_ASSIGN_OR_RETURN(
      steps.scale,
      steps.definition.Add(KernelNode(kConfig, scale, x, factor), {start}));
  HOLDFAST_ASSIGN_OR_RETURN(
      steps.shift,
      steps.definition.Add(KernelNode(kConfig, shift, x, by), {steps.scale}));
  return steps;
}

// Launches; every element has to be `expected`.
absl::Status LaunchAndCheck(const char* what, const GraphExec& exec,
                            const Stream& stream, const Buffer& x,
                            float expected) {
  HOLDFAST_RETURN_IF_ERROR(exec.Launch(stream));
  std::vector<float> found(kCount);
  HOLDFAST_RETURN_IF_ERROR(x.Download(found, stream));
  size_t wrong = 0;
  for (const float number : found) wrong += number != expected;
  std::printf("%-28s %4g, %zu of %u right\n", what, found[0], kCount - wrong,
              kCount);
  return wrong == 0 ? absl::OkStatus() : absl::DataLossError("wrong elements");
}

absl::Status Run(const std::string& address) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = address, .name = "update_graph"}));
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compilation,
                            Program(kSource).Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel scale, module.GetKernel("scale"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel shift, module.GetKernel("shift"));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer x, device.Allocate(4 * kCount));

  HOLDFAST_ASSIGN_OR_RETURN(const Steps steps,
                            Define(scale, shift, x, 2.0f, 5.0f));
  HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
                            Graph::Create(*session, steps.definition));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, graph.Instantiate());
  HOLDFAST_RETURN_IF_ERROR(LaunchAndCheck("1 * 2 + 5", exec, stream, x, 7.0f));

  HOLDFAST_RETURN_IF_ERROR(
      exec.Update(steps.scale, KernelNode(kConfig, scale, x, 10.0f)));
  HOLDFAST_RETURN_IF_ERROR(
      LaunchAndCheck("another factor: 1 * 10 + 5", exec, stream, x, 15.0f));

  HOLDFAST_RETURN_IF_ERROR(exec.SetEnabled(steps.shift, false));
  HOLDFAST_RETURN_IF_ERROR(
      LaunchAndCheck("without the shift: 1 * 10", exec, stream, x, 10.0f));
  HOLDFAST_RETURN_IF_ERROR(exec.SetEnabled(steps.shift, true));

  HOLDFAST_ASSIGN_OR_RETURN(const Steps others,
                            Define(scale, shift, x, 3.0f, 1.0f));
  HOLDFAST_ASSIGN_OR_RETURN(const Graph other,
                            Graph::Create(*session, others.definition));
  HOLDFAST_RETURN_IF_ERROR(exec.Update(other));
  return LaunchAndCheck("everything: 1 * 3 + 1", exec, stream, x, 4.0f);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string address;
  CLI::App app("update_graph: a graph that changes between launches");
  app.add_option("--address", address, "Where the daemon is");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(address);
  if (!status.ok()) {
    std::fprintf(
        stderr, "update_graph: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
