// SPDX-License-Identifier: Apache-2.0
//
// A session that outlives the faults of its own kernels. A kernel stores where
// no memory is and ruins its process, as it would ruin any CUDA process. The
// session goes on in another one, with the same handles, bytes and graphs.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
#include "client/examples/steps.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void stray(unsigned* x) { x[1ull << 40] = 1; }
extern "C" __global__ void count_up(unsigned* x) {
  x[threadIdx.x + blockIdx.x * blockDim.x] += 1;
}
)";
constexpr uint32_t kCount = 1 << 20, kFaults = 3;

// Commits a fault, and waits until the session is ready again.
absl::Status Fault(const Stream& stream, const Kernel& stray, const Buffer& x) {
  Steps steps;
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = 1, .block = 1}, stray, x));
  const absl::Status status = stream.Synchronize();
  const auto report = FaultOf(status);
  if (!report.has_value()) return absl::DataLossError("there was no fault");
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  std::printf("%s\n", DescribeFault(*report).c_str());
  steps.Done("the fault and the recovery");
  return absl::OkStatus();
}

absl::Status Run(const Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            CompileAndLoad(session, kSource));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel stray, module.GetKernel("stray"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel count_up,
                            module.GetKernel("count_up"));
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer x, device.Allocate(4 * kCount));
  std::vector<uint32_t> numbers(kCount);
  std::iota(numbers.begin(), numbers.end(), 0u);
  HOLDFAST_RETURN_IF_ERROR(x.Upload(numbers, stream));
  GraphDefinition definition;
  HOLDFAST_RETURN_IF_ERROR(
      definition
          .Add(KernelNode({.grid = kCount / 256, .block = 256}, count_up, x))
          .status());
  HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
                            Graph::Create(session, definition));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, graph.Instantiate());

  for (uint32_t faults = 1; faults <= kFaults; ++faults) {
    HOLDFAST_RETURN_IF_ERROR(Fault(stream, stray, x));
    HOLDFAST_RETURN_IF_ERROR(exec.Launch(stream));
    HOLDFAST_RETURN_IF_ERROR(x.Download(numbers, stream));
    HOLDFAST_RETURN_IF_ERROR(CheckAll("numbers", kCount, [&](uint32_t i) {
      return numbers[i] == i + faults;
    }));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Example example("survive: faults on purpose, and goes on");
  return example.Main(argc, argv, holdfast::Run);
}
