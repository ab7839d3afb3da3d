// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void vector_add(const float* a, const float* b,
                                      float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = a[i] + b[i];
}

// Four elements a thread, one vector access each.
extern "C" __global__ void vector_add4(const float4* a, const float4* b,
                                       float4* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 x = a[i], y = b[i];
  sum[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
