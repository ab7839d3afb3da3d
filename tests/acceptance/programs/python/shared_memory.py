# SPDX-License-Identifier: Apache-2.0
"""Dynamic shared memory, of one size and another, and templates over it."""

import numpy as np

from checks import build, down, equal, finish, run, stream, up, zeros

SOURCE = r"""
template <typename T>
__global__ void reversed(T* x, int n) {
  extern __shared__ unsigned char room[];
  T* copy = reinterpret_cast<T*>(room);
  for (int i = threadIdx.x; i < n; i += blockDim.x) copy[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = copy[n - 1 - i];
}
extern "C" __global__ void both(int* out) {
  __shared__ int fixed[32];
  extern __shared__ int dynamic[];
  fixed[threadIdx.x] = threadIdx.x;
  dynamic[threadIdx.x] = 100;
  __syncthreads();
  out[threadIdx.x] = fixed[31 - threadIdx.x] + dynamic[(threadIdx.x + 5) % 32];
}
"""
TYPES = {"float": np.float32, "double": np.float64, "unsigned char": np.uint8, "long long": np.int64}
module = build(SOURCE, names=[f"reversed<{name}>" for name in TYPES])
for name, dtype in TYPES.items():
    for count in (1, 100, 3000):
        x = np.arange(count).astype(dtype)
        there = up(x)
        run(module.get_kernel(f"reversed<{name}>"), 1, 64, there, np.int32(count), shmem_size=x.nbytes)
        equal(f"{count} of {name} through {x.nbytes} bytes", down(there, dtype), x[::-1])
out = zeros(32)
run(module.get_kernel("both"), 1, 32, out, shmem_size=128)
equal("static and dynamic ones beside each other", down(out), 131 - np.arange(32))
finish()
