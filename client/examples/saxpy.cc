// SPDX-License-Identifier: Apache-2.0
//
// out = a * x + y over 2^24 elements, from compiling the kernel to checking
// every element of the result.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "client/examples/steps.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void saxpy(float a, float* x, float* y, float* out,
                                 size_t n) {
  size_t tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < n) out[tid] = a * x[tid] + y[tid];
}
)";

std::vector<float> RandomNumbers(size_t n, uint32_t seed) {
  std::vector<float> numbers(n);
  for (float& number : numbers) {
    seed = seed * 1664525u + 1013904223u;
    number = static_cast<float>(seed >> 8) / (1 << 24);
  }
  return numbers;
}

absl::Status Run(const std::string& address, size_t n) {
  Steps steps;
  HOLDFAST_ASSIGN_OR_RETURN(
      auto session, Session::Open({.address = address, .name = "saxpy"}));
  HOLDFAST_ASSIGN_OR_RETURN(const auto info,
                            session->daemon().DescribeDevice(0));
  steps.Done("open a session", session->id() + " on " + info.device().name());

  // --fmad=false: rounds a * x and the sum apart, as the check below does.
  const Program program(kSource,
                        {.name = "saxpy.cu", .options = {"--fmad=false"}});
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compilation,
                            program.Compile(session->daemon()));
  steps.Done("compile the kernel",
             compilation.compiler + " for " + compilation.arch +
                 (compilation.cache_hit ? ", from the cache" : ""));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel saxpy, module.GetKernel("saxpy"));

  const float a = 2.0f;
  const std::vector<float> x = RandomNumbers(n, 1), y = RandomNumbers(n, 2);
  std::vector<float> out(n);
  const uint64_t bytes = n * sizeof(float);
  steps.Done("make the input", absl::StrFormat("%d elements", n));

  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_x, device.Allocate(bytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_y, device.Allocate(bytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_out, device.Allocate(bytes, stream));
  HOLDFAST_RETURN_IF_ERROR(d_x.Upload(x, stream));
  HOLDFAST_RETURN_IF_ERROR(d_y.Upload(y, stream));
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  steps.Done("allocate, copy in", absl::StrFormat("2 x %.1f MB", bytes / 1e6));

  const uint32_t block = 512;
  const auto grid = static_cast<uint32_t>((n + block - 1) / block);
  HOLDFAST_ASSIGN_OR_RETURN(const Event start, stream.Record({.timing = true}));
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = grid, .block = block}, saxpy,
                                  a, d_x, d_y, d_out, uint64_t{n}));
  HOLDFAST_ASSIGN_OR_RETURN(const Event end, stream.Record({.timing = true}));
  HOLDFAST_ASSIGN_OR_RETURN(const float ms, end.AwaitMillisecondsSince(start));
  steps.Done("run the kernel",
             absl::StrFormat("%d blocks of %d threads, %.3f ms by the device",
                             grid, block, ms));

  HOLDFAST_RETURN_IF_ERROR(d_out.Download(out, stream));
  steps.Done("copy out", absl::StrFormat("%.1f MB", bytes / 1e6));

  size_t wrong = 0;
  for (size_t i = 0; i < n; ++i) {
    const volatile float product = a * x[i];
    wrong += out[i] != product + y[i];
  }
  steps.Done("check every element",
             absl::StrFormat("%d of %d right", n - wrong, n));
  steps.Total();
  return wrong == 0 ? absl::OkStatus() : absl::DataLossError("wrong elements");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string address;
  size_t n = size_t{1} << 24;
  CLI::App app("saxpy: a * x + y on a Holdfast daemon, checked");
  app.add_option("--address", address, "Where the daemon is");
  app.add_option("--n", n, "Number of elements")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(address, n);
  if (!status.ok()) {
    std::fprintf(
        stderr, "saxpy: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
