# SPDX-License-Identifier: Apache-2.0
"""Structs by value with arrays in them: the kernel's own copy, indexed by whatever it likes."""

import numpy as np

from checks import build, down, equal, finish, run, up, zeros

SOURCE = r"""
struct Weights { float w[48]; };
struct Layout { int extent[6]; long long step[6]; int rank; };
union Word { float f; unsigned u; };
struct Mixed { char tag; Word words[3]; double scale; };
extern "C" {
__global__ void pick(Weights t, float* out) { out[threadIdx.x] = t.w[threadIdx.x % 48]; }
__global__ void chosen(Weights t, const int* at, float* out) { out[threadIdx.x] = t.w[at[threadIdx.x]]; }
__global__ void own(Weights t, float* out) {
  t.w[threadIdx.x % 48] *= 2;
  float sum = 0;
  for (int i = 0; i < 48; ++i) sum += t.w[i];
  out[threadIdx.x] = sum - t.w[threadIdx.x % 48];
}
__global__ void where(Layout s, long long* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  long long at = 0;
  for (int d = s.rank - 1, rest = i; d >= 0; rest /= s.extent[d--]) at += rest % s.extent[d] * s.step[d];
  out[i] = at;
}
__global__ void mixed(Mixed m, double* out) { out[threadIdx.x] = m.words[threadIdx.x % 3].f * m.scale + m.tag; }
}
__device__ __noinline__ float last(Weights t, int n) { return n > 47 ? t.w[47] : t.w[n] + 0 * last(t, n + 40); }
extern "C" __global__ void called(Weights t, float* out) { out[threadIdx.x] = last(t, threadIdx.x % 48); }
"""
# The compiler writes the pointers of packed structs byte by byte.
PACKED = r"""
__device__ int numbers[3] = {70, 77, 84};
__device__ int triple(int x) { return 3 * x; }
struct __attribute__((packed)) Record { char tag; int* number; short step; int (*function)(int); };
__device__ Record record = {1, &numbers[1], -2, triple};
__constant__ Record fixed = {4, numbers, 5, triple};
extern "C" __global__ void read(int* out) {
  out[0] = record.tag; out[1] = *record.number; out[2] = record.step; out[3] = record.function(5);
  out[4] = fixed.tag; out[5] = fixed.number[2]; out[6] = fixed.step; out[7] = fixed.function(6);
}
"""
module = build(SOURCE)
values = np.arange(48, dtype=np.float32) * 3 + 5
weights = np.array((values,), [("w", "f4", (48,))])[()]
layout = np.array(
    ([3, 4, 5, 0, 0, 0], [200, 20, 2, 0, 0, 0], 3),
    np.dtype([("extent", "i4", (6,)), ("step", "i8", (6,)), ("rank", "i4")], align=True),
)[()]
mixed = np.array((7, [1.5, 2.5, 3.5], 4.0), np.dtype([("tag", "i1"), ("words", "f4", (3,)), ("scale", "f8")], align=True))[()]
for block in (1, 5, 32, 33, 64):
    i = np.arange(block)
    out = zeros(block, np.float32)
    run(module.get_kernel("pick"), 1, block, weights, out)
    equal(f"an element by thread, {block} threads", down(out, np.float32), values[i % 48])
    at = (i * 11 % 48).astype(np.int32)
    run(module.get_kernel("chosen"), 1, block, weights, up(at), out)
    equal(f"an element by data, {block} threads", down(out, np.float32), values[at])
    run(module.get_kernel("own"), 1, block, weights, out)
    equal(f"each thread changes its own, {block} threads", down(out, np.float32), values.sum() - values[i % 48])
    run(module.get_kernel("called"), 1, block, weights, out)
    equal(f"handed to a function, {block} threads", down(out, np.float32), values[i % 48])
    double = zeros(block, np.float64)
    run(module.get_kernel("mixed"), 1, block, mixed, double)
    equal(f"a union within, {block} threads", down(double, np.float64), np.array([1.5, 2.5, 3.5])[i % 3] * 4 + 7)
    n = np.arange(60)
    place = zeros(60, np.int64)
    run(module.get_kernel("where"), -(-60 // block), block, layout, place, np.int32(60))
    equal(f"strides of a tensor, {block} threads", down(place, np.int64), n // 20 * 200 + n // 5 % 4 * 20 + n % 5 * 2)
fields = zeros(8, np.int32)
run(build(PACKED).get_kernel("read"), 1, 1, fields)
equal("pointers in packed variables", down(fields, np.int32), [1, 77, -2, 15, 4, 84, 5, 18])
finish()
