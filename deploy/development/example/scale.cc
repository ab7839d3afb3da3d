// SPDX-License-Identifier: Apache-2.0
//
// Multiplies numbers by 3 on a Holdfast daemon, in a build of its own: with
// CMake, pkg-config or Bazel. ../README.md has the commands.
#include <holdfast/base/status_macros.h>
#include <holdfast/holdfast.h>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void scale(float* x, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
)";

absl::Status Run() {
  std::vector<float> values(50'000);
  std::iota(values.begin(), values.end(), 0.0f);
  const int n = static_cast<int>(values.size());

  HOLDFAST_ASSIGN_OR_RETURN(const auto session,
                            holdfast::Session::Open({.name = "scale"}));
  const holdfast::Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const auto stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto compiled,
      holdfast::Program(kSource).Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(const auto module, session->Load(compiled.object));
  HOLDFAST_ASSIGN_OR_RETURN(const auto scale, module.GetKernel("scale"));
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto x, device.Allocate(values.size() * sizeof(float), stream));
  HOLDFAST_RETURN_IF_ERROR(x.Upload(values, stream));
  HOLDFAST_RETURN_IF_ERROR(
      holdfast::Launch(stream, {.grid = 196, .block = 256}, scale, x, 3.0f, n));
  HOLDFAST_RETURN_IF_ERROR(x.Download(values, stream));

  int right = 0;
  for (int i = 0; i < n; ++i) right += values[i] == 3.0f * i;
  std::printf("%d of %d elements are right\n", right, n);
  return right == n ? absl::OkStatus() : absl::DataLossError("wrong elements");
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  }
  return status.ok() ? 0 : 1;
}
