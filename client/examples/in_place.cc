// SPDX-License-Identifier: Apache-2.0
//
// Data that is made, copied from and checked in memory that this process shares
// with the daemon: no other copy of it is made.
#include <cstdint>

#include "client/cpp/holdfast.h"
#include "client/examples/example.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void square(float* data, size_t n) {
  size_t i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) data[i] *= data[i];
}
)";
constexpr uint64_t kCount = 1 << 20;
constexpr uint64_t kBytes = kCount * sizeof(float);

absl::Status Run(const Session& session) {
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            CompileAndLoad(session, kSource));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel square, module.GetKernel("square"));
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream,
                            session.device(0).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer,
                            session.device(0).Allocate(kBytes, stream));

  HOLDFAST_ASSIGN_OR_RETURN(
      const auto arena,
      session.CreateArena(2 * kBytes, {.in_background = true}));
  HOLDFAST_ASSIGN_OR_RETURN(const ArenaSpan in, arena->Allocate(kBytes));
  HOLDFAST_ASSIGN_OR_RETURN(const ArenaSpan out, arena->Allocate(kBytes));
  const auto numbers = in.As<float>(), squares = out.As<float>();
  for (size_t i = 0; i < kCount; ++i) numbers[i] = static_cast<float>(i % 4096);

  HOLDFAST_RETURN_IF_ERROR(buffer.CopyFrom(in, stream));
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = kCount / 256, .block = 256},
                                  square, buffer, kCount));
  HOLDFAST_RETURN_IF_ERROR(buffer.CopyTo(out, stream));
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());

  return CheckAll("squares", kCount, [&](size_t i) {
    return squares[i] == numbers[i] * numbers[i];
  });
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Example example("in_place: memory shared with the daemon");
  return example.Main(argc, argv, holdfast::Run);
}
