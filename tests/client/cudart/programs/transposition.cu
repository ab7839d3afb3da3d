// SPDX-License-Identifier: Apache-2.0
// Transposes a matrix by tiles in shared memory, between memories with a pitch.
#include <vector>

#include "check.h"

constexpr int kTile = 16;

__global__ void Transpose(const int* from, size_t from_pitch, int* to,
                          size_t to_pitch, int width, int height) {
  __shared__ int tile[kTile][kTile + 1];
  const int x = blockIdx.x * kTile + threadIdx.x;
  const int y = blockIdx.y * kTile + threadIdx.y;
  if (x < width && y < height) {
    tile[threadIdx.y][threadIdx.x] = from[y * from_pitch / sizeof(int) + x];
  }
  __syncthreads();
  const int to_x = blockIdx.y * kTile + threadIdx.x;
  const int to_y = blockIdx.x * kTile + threadIdx.y;
  if (to_x < height && to_y < width) {
    to[to_y * to_pitch / sizeof(int) + to_x] = tile[threadIdx.x][threadIdx.y];
  }
}

int main() {
  constexpr int kWidth = 75;
  constexpr int kHeight = 133;
  constexpr size_t kRow = kWidth * sizeof(int);
  constexpr size_t kColumn = kHeight * sizeof(int);
  std::vector<int> matrix(kWidth * kHeight), transposed(kWidth * kHeight);
  for (int i = 0; i < kWidth * kHeight; ++i) matrix[i] = i;

  int *from = nullptr, *to = nullptr;
  size_t from_pitch = 0, to_pitch = 0;
  CHECK_CUDA(cudaMallocPitch(&from, &from_pitch, kRow, kHeight));
  CHECK_CUDA(cudaMallocPitch(&to, &to_pitch, kColumn, kWidth));
  CHECK(from_pitch >= kRow && to_pitch >= kColumn);
  CHECK_CUDA(cudaMemset2D(to, to_pitch, 0xff, kColumn, kWidth));
  CHECK_CUDA(cudaMemcpy2D(from, from_pitch, matrix.data(), kRow, kRow, kHeight,
                          cudaMemcpyHostToDevice));
  const dim3 grid((kWidth + kTile - 1) / kTile, (kHeight + kTile - 1) / kTile);
  Transpose<<<grid, dim3(kTile, kTile)>>>(from, from_pitch, to, to_pitch,
                                          kWidth, kHeight);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaMemcpy2D(transposed.data(), kColumn, to, to_pitch, kColumn,
                          kWidth, cudaMemcpyDeviceToHost));
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      CHECK(transposed[x * kHeight + y] == matrix[y * kWidth + x]);
    }
  }

  // A box out of the middle of another one.
  const cudaExtent extent = make_cudaExtent(32, 3, 2);
  cudaPitchedPtr box;
  CHECK_CUDA(cudaMalloc3D(&box, make_cudaExtent(64, 5, 4)));
  CHECK_CUDA(cudaMemset3D(box, 1, make_cudaExtent(64, 5, 4)));
  cudaPitchedPtr inner = box;
  inner.ptr = static_cast<char*>(box.ptr) + (5 + 1) * box.pitch + 16;
  CHECK_CUDA(cudaMemset3D(inner, 7, extent));
  std::vector<unsigned char> bytes(32 * 3 * 2);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = box;
  copy.srcPos = make_cudaPos(16, 1, 1);
  copy.dstPtr = make_cudaPitchedPtr(bytes.data(), 32, 32, 3);
  copy.extent = extent;
  copy.kind = cudaMemcpyDeviceToHost;
  CHECK_CUDA(cudaMemcpy3D(&copy));
  for (const unsigned char byte : bytes) CHECK(byte == 7);

  CHECK(cudaMemcpy2D(from, 4, matrix.data(), kRow, kRow, 1,
                     cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  CHECK_CUDA(cudaFree(from));
  CHECK_CUDA(cudaFree(to));
  CHECK_CUDA(cudaFree(box.ptr));
  std::printf("%d by %d transposed: right\n", kWidth, kHeight);
  return 0;
}
