// SPDX-License-Identifier: Apache-2.0
//
// Pinned memory, launches in order, timing with events, and two streams of
// which one waits for the other.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
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

// `out` must be 0, factor, 2 * factor ...
absl::Status Check(const char* what, const std::vector<float>& out,
                   float factor) {
  size_t wrong = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    wrong += out[i] != static_cast<float>(i) * factor;
  }
  std::printf("%-52s %zu of %zu right\n", what, out.size() - wrong, out.size());
  return wrong == 0 ? absl::OkStatus() : absl::DataLossError("wrong elements");
}

absl::Status Run(const std::string& address) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session, Session::Open({.address = address, .name = "scale"}));
  const Program program(kSource, {.name = "scale.cu"});
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compilation,
                            program.Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel scale, module.GetKernel("scale"));
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream a, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Stream b, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer host, session->AllocateHost(kBytes));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer on_a, device.Allocate(kBytes, a));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer on_b, device.Allocate(kBytes, b));

  // Host to device, three launches between two events, and back.
  std::vector<float> numbers(kCount), out(kCount);
  for (size_t i = 0; i < kCount; ++i) numbers[i] = static_cast<float>(i);
  HOLDFAST_RETURN_IF_ERROR(host.Upload(numbers, a));
  HOLDFAST_RETURN_IF_ERROR(on_a.CopyFrom(host, a));
  HOLDFAST_ASSIGN_OR_RETURN(const Event start, a.Record({.timing = true}));
  for (const float factor : {3.0f, 2.0f, 0.5f}) {
    HOLDFAST_RETURN_IF_ERROR(Launch(a, kConfig, scale, on_a, factor, kCount));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const Event end, a.Record({.timing = true}));
  HOLDFAST_RETURN_IF_ERROR(on_a.CopyTo(host, a));
  HOLDFAST_RETURN_IF_ERROR(host.Download(out, a));
  HOLDFAST_RETURN_IF_ERROR(Check("one stream: 3 * 2 * 0.5", out, 3.0f));
  HOLDFAST_ASSIGN_OR_RETURN(const float ms, end.MillisecondsSince(start));
  std::printf("three launches took %.3f ms\n", ms);

  // Independent work on two streams; then b waits for a and takes its result.
  HOLDFAST_RETURN_IF_ERROR(host.Upload(numbers, a));
  HOLDFAST_RETURN_IF_ERROR(on_a.CopyFrom(host, a));
  HOLDFAST_RETURN_IF_ERROR(b.Wait(a));
  HOLDFAST_RETURN_IF_ERROR(on_b.CopyFrom(host, b));
  HOLDFAST_RETURN_IF_ERROR(Launch(a, kConfig, scale, on_a, 2.0f, kCount));
  HOLDFAST_RETURN_IF_ERROR(Launch(b, kConfig, scale, on_b, 5.0f, kCount));
  HOLDFAST_RETURN_IF_ERROR(on_b.Download(out, b));
  HOLDFAST_RETURN_IF_ERROR(Check("two streams: b alone, * 5", out, 5.0f));
  HOLDFAST_RETURN_IF_ERROR(b.Wait(a));
  HOLDFAST_RETURN_IF_ERROR(on_b.CopyFrom(on_a, b));
  HOLDFAST_RETURN_IF_ERROR(on_b.Download(out, b));
  return Check("two streams: b waited for a, * 2", out, 2.0f);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string address;
  CLI::App app("scale: streams and events on a Holdfast daemon");
  app.add_option("--address", address, "Where the daemon is");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(address);
  if (!status.ok()) {
    std::fprintf(
        stderr, "scale: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
