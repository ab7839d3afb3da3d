// SPDX-License-Identifier: Apache-2.0
// What CUB's algorithms for whole devices are made of.
#include <cub/agent/single_pass_scan_operators.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/util_ptx.cuh>

using Tiles = cub::ScanTileState<int>;

__device__ Tiles TilesIn(void* storage, int count) {
  Tiles tiles;
  tiles.Init(count, storage, 0);
  return tiles;
}

extern "C" __global__ void cub_tiles(void* storage, int count) {
  TilesIn(storage, count).InitializeStatus(count);
}

// Multiples of three, in their order: each block looks back for how many the
// blocks before it have found.
extern "C" __global__ void cub_select(const int* in, int* out, int* found,
                                      void* storage, int count) {
  using Scan = cub::BlockScan<int, 128>;
  using Prefix = cub::TilePrefixCallbackOp<int, cuda::std::plus<>, Tiles>;
  __shared__ typename Scan::TempStorage scan_storage;
  __shared__ typename Prefix::TempStorage prefix_storage;
  Tiles tiles = TilesIn(storage, gridDim.x);
  const int tile = blockIdx.x, i = tile * 128 + threadIdx.x;
  const int value = i < count ? in[i] : 1, wanted = value % 3 == 0;
  int at = 0, total = 0;
  if (tile == 0) {
    Scan(scan_storage).ExclusiveSum(wanted, at, total);
    if (threadIdx.x == 0) tiles.SetInclusive(0, total);
  } else {
    Prefix prefix(tiles, prefix_storage, cuda::std::plus<>{}, tile);
    Scan(scan_storage).ExclusiveSum(wanted, at, prefix);
    total = prefix.GetInclusivePrefix();
  }
  if (wanted) out[at] = value;
  if (tile == gridDim.x - 1 && threadIdx.x == 0) *found = total;
}

// The lanes that have the same digit.
extern "C" __global__ void cub_match(const unsigned* digits, unsigned* peers) {
  peers[threadIdx.x] = cub::MatchAny<4>(digits[threadIdx.x]);
}
