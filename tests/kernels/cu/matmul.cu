// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void matmul_naive(const float* a, const float* b,
                                        float* c, int n) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || col >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
  c[row * n + col] = sum;
}

// n is a multiple of the tile.
extern "C" __global__ void matmul_tiled(const float* a, const float* b,
                                        float* c, int n) {
  constexpr int kTile = 16;
  __shared__ float as[kTile][kTile];
  __shared__ float bs[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int col = blockIdx.x * kTile + tx, row = blockIdx.y * kTile + ty;
  float sum = 0;
  for (int t = 0; t < n / kTile; ++t) {
    as[ty][tx] = a[row * n + t * kTile + tx];
    bs[ty][tx] = b[(t * kTile + ty) * n + col];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  c[row * n + col] = sum;
}
