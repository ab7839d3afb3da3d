// SPDX-License-Identifier: Apache-2.0
//
// Pinned memory, launches in order, timing with events, and two streams of
// which one waits for the other.
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
extern "C" __global__ void scale(float* data, float factor, size_t n) {
  size_t i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) data[i] *= factor;
}
)";
constexpr uint64_t kCount = 1024;
constexpr uint64_t kBytes = kCount * sizeof(float);
const LaunchConfig kConfig = {.grid = kCount / 256, .block = 256};

absl::Status Run(const Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            CompileAndLoad(session, kSource));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel scale, module.GetKernel("scale"));
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream a, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Stream b, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer host, session.AllocateHost(kBytes));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer on_a, device.Allocate(kBytes, a));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer on_b, device.Allocate(kBytes, b));
  std::vector<float> in(kCount), out(kCount);
  std::iota(in.begin(), in.end(), 0.0f);

  // Host to device, three launches between two events, and back.
  HOLDFAST_RETURN_IF_ERROR(host.Upload(in, a));
  HOLDFAST_RETURN_IF_ERROR(on_a.CopyFrom(host, a));
  HOLDFAST_ASSIGN_OR_RETURN(const Event start, a.Record({.timing = true}));
  for (const float factor : {3.0f, 2.0f, 0.5f}) {
    HOLDFAST_RETURN_IF_ERROR(Launch(a, kConfig, scale, on_a, factor, kCount));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const Event end, a.Record({.timing = true}));
  HOLDFAST_RETURN_IF_ERROR(on_a.CopyTo(host, a));
  HOLDFAST_RETURN_IF_ERROR(host.Download(out, a));
  HOLDFAST_RETURN_IF_ERROR(
      CheckAll("one stream: 3 * 2 * 0.5", kCount,
               [&](size_t i) { return out[i] == in[i] * 3; }));
  HOLDFAST_ASSIGN_OR_RETURN(const float ms, end.MillisecondsSince(start));
  std::printf("three launches took %.3f ms\n", ms);

  // Independent work on two streams; then b waits for a and takes its result.
  HOLDFAST_RETURN_IF_ERROR(on_a.Upload(in, a));
  HOLDFAST_RETURN_IF_ERROR(on_b.Upload(in, b));
  HOLDFAST_RETURN_IF_ERROR(Launch(a, kConfig, scale, on_a, 2.0f, kCount));
  HOLDFAST_RETURN_IF_ERROR(Launch(b, kConfig, scale, on_b, 5.0f, kCount));
  HOLDFAST_RETURN_IF_ERROR(on_b.Download(out, b));
  HOLDFAST_RETURN_IF_ERROR(
      CheckAll("two streams: b alone, * 5", kCount,
               [&](size_t i) { return out[i] == in[i] * 5; }));
  HOLDFAST_RETURN_IF_ERROR(b.Wait(a));
  HOLDFAST_RETURN_IF_ERROR(on_b.CopyFrom(on_a, b));
  HOLDFAST_RETURN_IF_ERROR(on_b.Download(out, b));
  return CheckAll("two streams: b waited for a, * 2", kCount,
                  [&](size_t i) { return out[i] == in[i] * 2; });
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Example example("scale: streams and events");
  return example.Main(argc, argv, holdfast::Run);
}
