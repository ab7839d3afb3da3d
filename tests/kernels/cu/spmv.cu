// SPDX-License-Identifier: Apache-2.0
// A row a thread.
extern "C" __global__ void spmv_csr(const int* starts, const int* columns,
                                    const float* values, const float* x,
                                    float* y, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = starts[row]; k < starts[row + 1]; ++k) {
    sum += values[k] * x[columns[k]];
  }
  y[row] = sum;
}

// A row a warp.
extern "C" __global__ void spmv_csr_warp(const int* starts, const int* columns,
                                         const float* values, const float* x,
                                         float* y, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x & 31;
  if (row >= rows) return;
  float sum = 0;
  for (int k = starts[row] + lane; k < starts[row + 1]; k += 32) {
    sum += values[k] * x[columns[k]];
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  }
  if (lane == 0) y[row] = sum;
}

// Rows of equal width, column-major; -1 where there is nothing.
extern "C" __global__ void spmv_ell(const int* columns, const float* values,
                                    const float* x, float* y, int rows,
                                    int width) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = 0; k < width; ++k) {
    const int column = columns[k * rows + row];
    if (column >= 0) sum += values[k * rows + row] * x[column];
  }
  y[row] = sum;
}
