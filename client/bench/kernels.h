// SPDX-License-Identifier: Apache-2.0
//
// The kernels that are measured, the same for Holdfast and for the native
// baseline.
#ifndef HOLDFAST_CLIENT_BENCH_KERNELS_H_
#define HOLDFAST_CLIENT_BENCH_KERNELS_H_

#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

// Kernels that do nothing, with 4 and with 16 arguments.
inline constexpr char kEmptyKernels[] = R"(.version 7.0
.target sm_52
.address_size 64

.visible .entry four(.param .u64 p0, .param .u64 p1, .param .f32 p2,
                     .param .u64 p3)
{
  ret;
}

.visible .entry sixteen(
    .param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3,
    .param .u64 p4, .param .u64 p5, .param .u64 p6, .param .u64 p7,
    .param .u64 p8, .param .u64 p9, .param .u64 p10, .param .u64 p11,
    .param .u64 p12, .param .u64 p13, .param .u64 p14, .param .u64 p15)
{
  ret;
}
)";

// A kernel that does nothing, and one that faults.
inline constexpr char kFaultKernels[] = R"(.version 7.0
.target sm_52
.address_size 64

.visible .entry work()
{
  ret;
}

.visible .entry fault()
{
  trap;
  ret;
}
)";

// SAXPY, the example of NVRTC's documentation, for the group "application".
inline constexpr char kSaxpySource[] = R"(
extern "C" __global__ void saxpy(float a, float* x, float* y, float* out,
                                 size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a * x[i] + y[i];
}
)";
// The architecture that new programs are compiled for, on every machine.
inline constexpr char kCompileArch[] = "compute_80";
inline constexpr uint32_t kSaxpyThreads = 512;
inline constexpr uint32_t kSaxpyBlocks = 32768;
inline constexpr size_t kSaxpyN = size_t{kSaxpyThreads} * kSaxpyBlocks;

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_KERNELS_H_
