#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The toolkit's headers are there for kernels, also where the compiler is confined.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
for header in cuda_fp16.h cuda_bf16.h cuda_fp8.h cooperative_groups.h cooperative_groups/reduce.h cooperative_groups/scan.h \
  cub/block/block_reduce.cuh cub/block/block_scan.cuh cub/warp/warp_reduce.cuh cuda/std/array cuda/std/complex cuda/std/limits \
  cuda/atomic cuda/barrier curand_kernel.h math_constants.h; do
  printf '#include <%s>\nextern "C" __global__ void k(int* x) { *x = 1; }\n' "$header" >header.cu
  works "#include <$header>" holdfast compile header.cu -o header.ptx
done
cat >many.cu <<'SOURCE'
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/block/block_scan.cuh>
#include <cuda/atomic>
#include <cuda/std/array>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
extern "C" __global__ void many(int* out, int* total) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  out[threadIdx.x] = cg::reduce(tile, int(threadIdx.x), cg::greater<int>());
  using Scan = cub::BlockScan<int, 64>;
  __shared__ typename Scan::TempStorage room;
  int before;
  Scan(room).ExclusiveSum(1, before);
  cuda::std::array<int, 3> three{1, 2, 3};
  cuda::atomic_ref<int, cuda::thread_scope_device> sum(*total);
  sum.fetch_add(before + three[threadIdx.x % 3] + int(__half2float(__float2half(0.5f) + __float2half(1.5f))));
}
SOURCE
works "a kernel with six of them" holdfast run many.cu --kernel many --grid 1 --block 64 'out:o.npy:i32[64]' 'out:t.npy:i32[1]'
same "maxima of tiles" "$(array o.npy)" "$("$PYTHON" -c 'print([i // 16 * 16 + 15 for i in range(64)])')"
same "the sum" "$(array t.npy)" "[2271]"
printf '#include <vector>\nextern "C" __global__ void k(int* x) {}\n' >host.cu
refused "a header of the host's library says why not" 1 "host's C and C\+\+ library" holdfast compile host.cu -o host.ptx
for header in cub/cub.cuh cub/device/device_reduce.cuh cub/util_allocator.cuh thrust/sort.h; do
  printf '#include <%s>\nextern "C" __global__ void k(int* x) {}\n' "$header" >host.cu
  refused "#include <$header> names the headers for kernels" 1 'include <cub/block/' holdfast compile host.cu -o host.ptx
  same "and no error beside it" "$(grep -c ': error: ' out)" 0
done
refused "a file of the daemon's machine" 1 'passwd' sh -c 'echo "#include \"/etc/passwd\"" | holdfast compile - -o x.ptx'
finish
