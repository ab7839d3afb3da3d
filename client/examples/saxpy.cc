// SPDX-License-Identifier: Apache-2.0
//
// out = a * x + y over 2^24 elements, from compiling the kernel to checking
// every element of the result.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
#include "client/examples/steps.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void saxpy(float a, float* x, float* y, float* out,
                                 size_t n) {
  size_t tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < n) out[tid] = a * x[tid] + y[tid];
}
)";

absl::Status Run(const std::string& address, uint64_t n) {
  Steps steps;
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session, Session::Open({.address = address, .name = "saxpy"}));
  steps.Done("open a session", session->id());
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            CompileAndLoad(*session, kSource));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel saxpy, module.GetKernel("saxpy"));
  steps.Done("compile the kernel");

  // Whole numbers below 2^24: a float has every result exactly.
  const float a = 2.0f;
  std::vector<float> x(n), y(n, 1.0f), out(n);
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i % 1000000);
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

  const auto grid = static_cast<uint32_t>((n + 511) / 512);
  HOLDFAST_ASSIGN_OR_RETURN(const Event start, stream.Record({.timing = true}));
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = grid, .block = 512}, saxpy,
                                  a, d_x, d_y, d_out, n));
  HOLDFAST_ASSIGN_OR_RETURN(const Event end, stream.Record({.timing = true}));
  HOLDFAST_ASSIGN_OR_RETURN(const float ms, end.AwaitMillisecondsSince(start));
  steps.Done("run the kernel",
             absl::StrFormat("%d blocks, %.3f ms by the device", grid, ms));
  HOLDFAST_RETURN_IF_ERROR(d_out.Download(out, stream));
  steps.Done("copy out", absl::StrFormat("%.1f MB", bytes / 1e6));
  steps.Total();
  return CheckAll("every element", n,
                  [&](size_t i) { return out[i] == a * x[i] + y[i]; });
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  uint64_t n = uint64_t{1} << 24;
  holdfast::Example example("saxpy: a * x + y, checked");
  example.options()
      .add_option("--n", n, "Elements")
      ->check(CLI::PositiveNumber);
  return example.Main(argc, argv, [&](const std::string& address) {
    return holdfast::Run(address, n);
  });
}
