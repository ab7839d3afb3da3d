// SPDX-License-Identifier: Apache-2.0
__constant__ float weights[5 * 5];

extern "C" __global__ void convolution(const float* in, float* out, int width,
                                       int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int dy = -2; dy <= 2; ++dy) {
    for (int dx = -2; dx <= 2; ++dx) {
      const int cx = min(max(x + dx, 0), width - 1);
      const int cy = min(max(y + dy, 0), height - 1);
      sum += weights[(dy + 2) * 5 + dx + 2] * in[cy * width + cx];
    }
  }
  out[y * width + x] = sum;
}
