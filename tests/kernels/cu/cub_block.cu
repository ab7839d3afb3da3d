// SPDX-License-Identifier: Apache-2.0
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

extern "C" __global__ void cub_reduce(const int* in, int* sums) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage storage;
  const int sum = Reduce(storage).Sum(in[blockIdx.x * 128 + threadIdx.x]);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

extern "C" __global__ void cub_scan(const int* in, int* out) {
  using Scan = cub::BlockScan<int, 128>;
  __shared__ typename Scan::TempStorage storage;
  int value = in[blockIdx.x * 128 + threadIdx.x];
  Scan(storage).ExclusiveSum(value, value);
  out[blockIdx.x * 128 + threadIdx.x] = value;
}

extern "C" __global__ void cub_sort(unsigned* keys) {
  using Sort = cub::BlockRadixSort<unsigned, 64, 4>;
  __shared__ typename Sort::TempStorage storage;
  unsigned mine[4];
  unsigned* base = keys + blockIdx.x * 256 + threadIdx.x * 4;
  for (int i = 0; i < 4; ++i) mine[i] = base[i];
  Sort(storage).Sort(mine);
  for (int i = 0; i < 4; ++i) base[i] = mine[i];
}
