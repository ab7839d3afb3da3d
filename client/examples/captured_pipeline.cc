// SPDX-License-Identifier: Apache-2.0
//
// Two streams, captured as one graph: each launch counts all numbers up, and
// then adds them up and copies them at the same time.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
__device__ unsigned id() { return threadIdx.x + blockIdx.x * blockDim.x; }
extern "C" __global__ void count_up(unsigned* x) { x[id()] += 1; }
extern "C" __global__ void add(const unsigned* x, unsigned* sum) {
  atomicAdd(sum, x[id()]);
}
)";
constexpr uint32_t kCount = 4096;
const LaunchConfig kConfig = {.grid = kCount / 256, .block = 256};

absl::Status Run(const Session& session, bool dot) {
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            CompileAndLoad(session, kSource));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel count_up,
                            module.GetKernel("count_up"));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel add, module.GetKernel("add"));
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream main, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Stream side, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer x, device.Allocate(4 * kCount));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer sum, device.Allocate(4));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer copy, device.Allocate(4 * kCount));

  // Ordinary calls: between Begin and End they are recorded, not carried out.
  HOLDFAST_ASSIGN_OR_RETURN(StreamCapture capture, StreamCapture::Begin(main));
  HOLDFAST_RETURN_IF_ERROR(Launch(main, kConfig, count_up, x));
  HOLDFAST_RETURN_IF_ERROR(side.Wait(main));  // forks
  HOLDFAST_RETURN_IF_ERROR(sum.Fill(uint32_t{0}, main));
  HOLDFAST_RETURN_IF_ERROR(Launch(main, kConfig, add, x, sum));
  HOLDFAST_RETURN_IF_ERROR(copy.CopyFrom(x, side));
  HOLDFAST_RETURN_IF_ERROR(main.Wait(side));  // joins
  HOLDFAST_ASSIGN_OR_RETURN(const GraphDefinition graph, capture.End());
  const GraphNames names = {
      .kernels = {{count_up.handle(), "count_up"}, {add.handle(), "add"}},
      .buffers = {
          {x.handle(), "x"}, {sum.handle(), "sum"}, {copy.handle(), "copy"}}};
  std::printf("%s",
              (dot ? ToDot(graph, names) : ToString(graph, names)).c_str());

  HOLDFAST_ASSIGN_OR_RETURN(const Graph made, Graph::Create(session, graph));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, made.Instantiate());
  std::vector<uint32_t> numbers(kCount), total(1);
  std::iota(numbers.begin(), numbers.end(), 0u);
  HOLDFAST_RETURN_IF_ERROR(x.Upload(numbers, main));
  for (int i = 0; i < 100; ++i) HOLDFAST_RETURN_IF_ERROR(exec.Launch(main));
  HOLDFAST_RETURN_IF_ERROR(sum.Download(total, main));
  HOLDFAST_RETURN_IF_ERROR(copy.Download(numbers, main));
  if (!dot) std::printf("after 100 launches: the sum is %u\n", total[0]);
  const uint32_t right = kCount * (kCount - 1) / 2 + 100 * kCount;
  if (total[0] == right && numbers[0] == 100) return absl::OkStatus();
  return absl::DataLossError("wrong results");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  bool dot = false;
  holdfast::Example example("captured_pipeline: two streams as one graph");
  example.options().add_flag("--dot", dot, "Print the graph as DOT");
  return example.Main(argc, argv, [&](const holdfast::Session& session) {
    return holdfast::Run(session, dot);
  });
}
