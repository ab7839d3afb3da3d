// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = a * x[i] + y[i];
  }
}
