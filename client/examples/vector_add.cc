// SPDX-License-Identifier: Apache-2.0
//
// A kernel template: instantiated by a name expression, launched by that name.
#include <cstdint>
#include <numeric>
#include <vector>

#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
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
constexpr char kName[] = "vector_add<float>";
constexpr uint64_t kCount = 50000;
constexpr uint64_t kBytes = kCount * sizeof(float);

absl::Status Run(const Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const Module module,
      CompileAndLoad(session, kSource, {.name = "vector_add.cu"}, {kName}));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel kernel, module.GetKernel(kName));

  std::vector<float> a(kCount), b(kCount), c(kCount);
  std::iota(a.begin(), a.end(), 0.0f);
  std::iota(b.begin(), b.end(), 0.5f);
  const Device device = session.device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_a, device.Allocate(kBytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_b, device.Allocate(kBytes, stream));
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer d_c, device.Allocate(kBytes, stream));
  HOLDFAST_RETURN_IF_ERROR(d_a.Upload(a, stream));
  HOLDFAST_RETURN_IF_ERROR(d_b.Upload(b, stream));

  // Arguments have the types of the parameters: const float*, ..., size_t.
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = 196, .block = 256}, kernel,
                                  d_a, d_b, d_c, kCount));
  HOLDFAST_RETURN_IF_ERROR(d_c.Download(c, stream));
  return CheckAll(kName, kCount, [&](size_t i) { return c[i] == a[i] + b[i]; });
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Example example("vector_add: a kernel template");
  return example.Main(argc, argv, holdfast::Run);
}
