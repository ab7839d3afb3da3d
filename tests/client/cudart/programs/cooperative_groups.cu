// SPDX-License-Identifier: Apache-2.0
// Tiles of threads, and a barrier of the whole grid.
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

// Sums by tiles of 16 threads. `sums` has one number for each tile.
__global__ void SumTiles(const int* values, int* sums) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int sum = values[cg::this_grid().thread_rank()];
  for (int step = tile.size() / 2; step > 0; step /= 2) {
    sum += tile.shfl_down(sum, step);
  }
  if (tile.thread_rank() == 0) {
    sums[cg::this_grid().thread_rank() / tile.size()] = sum;
  }
}

// Rotates numbers between blocks, `rounds` times.
__global__ void Rotate(int* values, int* others, int count, int rounds) {
  const cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < rounds; ++round) {
    for (int i = grid.thread_rank(); i < count; i += grid.size()) {
      others[(i + 1) % count] = values[i];
    }
    grid.sync();
    for (int i = grid.thread_rank(); i < count; i += grid.size()) {
      values[i] = others[i];
    }
    grid.sync();
  }
}

int main() {
  constexpr int kCount = 512;
  int *values = nullptr, *others = nullptr;
  int host[kCount], result[kCount];
  for (int i = 0; i < kCount; ++i) host[i] = i;
  CHECK_CUDA(cudaMalloc(&values, sizeof(host)));
  CHECK_CUDA(cudaMalloc(&others, sizeof(host)));
  CHECK_CUDA(cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice));

  SumTiles<<<kCount / 128, 128>>>(values, others);
  CHECK_CUDA(cudaMemcpy(result, others, kCount / 16 * sizeof(int),
                        cudaMemcpyDeviceToHost));
  for (int tile = 0; tile < kCount / 16; ++tile) {
    CHECK(result[tile] == 16 * 16 * tile + 120);
  }
  std::printf("tiles: right\n");

  int cooperative = 0;
  CHECK_CUDA(
      cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
  CHECK(cooperative != 0);
  int count = kCount, rounds = 5;
  void* arguments[] = {&values, &others, &count, &rounds};
  CHECK_CUDA(cudaLaunchCooperativeKernel(Rotate, dim3(4), dim3(64), arguments,
                                         0, nullptr));
  CHECK_CUDA(cudaMemcpy(result, values, sizeof(host), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(result[(i + rounds) % kCount] == i);

  // The same by a configuration with attributes.
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2);
  config.blockDim = dim3(32);
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK_CUDA(cudaLaunchKernelEx(&config, Rotate, values, others, count, 3));
  CHECK_CUDA(cudaMemcpy(result, values, sizeof(host), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) CHECK(result[(i + 8) % kCount] == i);
  CHECK_CUDA(cudaFree(values));
  CHECK_CUDA(cudaFree(others));
  std::printf("grid: right\n");
  return 0;
}
