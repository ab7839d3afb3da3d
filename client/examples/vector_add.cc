// SPDX-License-Identifier: Apache-2.0
//
// A kernel template: instantiated by a name expression, launched by that name.
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
template <typename T>
__global__ void vector_add(const T* a, const T* b, T* c, size_t n) {
  const unsigned int first = threadIdx.x + blockIdx.x * blockDim.x;
  for (size_t i = first; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}
)";

absl::Status Run(const std::string& address) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto session,
      Session::Open({.address = address, .name = "vector_add"}));
  const Program program(kSource,
                        {.name = "vector_add.cu", .options = {"--std=c++17"}});
  HOLDFAST_ASSIGN_OR_RETURN(
      const Compilation compilation,
      program.Compile(session->daemon(), {"vector_add<float>"}));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel kernel,
                            module.GetKernel("vector_add<float>"));

  const size_t n = 50000;
  std::vector<float> a(n), b(n), c(n);
  for (size_t i = 0; i < n; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = 0.5f * static_cast<float>(i);
  }
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  const uint64_t bytes = n * sizeof(float);
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_a, device.Allocate(bytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_b, device.Allocate(bytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_c, device.Allocate(bytes, stream));
  HOLDFAST_RETURN_IF_ERROR(d_a.Upload(a, stream));
  HOLDFAST_RETURN_IF_ERROR(d_b.Upload(b, stream));

  // Arguments have the types of the parameters: const float*, ..., size_t.
  const uint32_t block = 256;
  const uint32_t grid = (n + block - 1) / block;
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = grid, .block = block},
                                  kernel, d_a, d_b, d_c, uint64_t{n}));
  HOLDFAST_RETURN_IF_ERROR(d_c.Download(c, stream));

  size_t wrong = 0;
  for (size_t i = 0; i < n; ++i) wrong += c[i] != a[i] + b[i];
  std::printf("vector_add<float>: %zu of %zu elements right\n", n - wrong, n);
  return wrong == 0 ? absl::OkStatus() : absl::DataLossError("wrong elements");
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string address;
  CLI::App app("vector_add: a kernel template on a Holdfast daemon");
  app.add_option("--address", address, "Where the daemon is");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(address);
  if (!status.ok()) {
    std::fprintf(
        stderr, "vector_add: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
