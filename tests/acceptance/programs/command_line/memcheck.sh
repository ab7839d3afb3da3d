#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# With --memcheck, an access outside of a buffer, even to the buffer beside it, is an error with buffer and distance.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
cat >put.cu <<'SOURCE'
extern "C" __global__ void put(int* x, int* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = i;
}
extern "C" __global__ void get(const int* x, int i, int* y) { y[0] = x[i]; }
extern "C" __global__ void shared(int* y, int i) {
  extern __shared__ int room[];
  room[i] = i;
  y[0] = room[i];
}
__device__ int table[3], behind[3];
extern "C" __global__ void variable(int* y, int i) { table[i] = i; y[0] = behind[0]; }
SOURCE
# shellcheck disable=SC2317  # the helpers call it
go() { holdfast run put.cu --memcheck --kernel "$1" --grid 4 --block 256 "${@:2}"; }
# x has 4 elements, y as well.
works "stores inside of x" go put scratch:16 out:y.npy:i32[4] i32:4 --print
same "leave y alone" "$(grep -c '= \[0, 0, 0, 0\]' out)" 1
refused "stores into y" 1 'right behind the end of the buffer of 16 bytes' go put scratch:16 scratch:16 i32:1000
same "kernel, block, thread" "$(grep -c 'kernel put, block (0,0,0), thread (4,0,0)' out)" 1
same "the line of the source" "$(grep -c 'PTX line [0-9]*, put.cu:3: st:' out)" 1
same "a write, of its size" "$(grep -c '4-byte write at 0x' out)" 1
works "stores into y, unchecked" holdfast run --address=embedded:device=cpu put.cu --kernel put --grid 4 --block 256 \
  scratch:16 out:y.npy:i32[4] i32:1000 --print
same "overwrites y" "$(grep 'y.npy: i32\[4\] = ' out | grep -vc '= \[0, 0, 0, 0\]')" 1
works "a load inside" go get scratch:16 i32:3 scratch:4
refused "a load behind the end" 1 '4-byte read at 0x[0-9a-f]*, 4 bytes behind the end of the buffer of 16 bytes' \
  go get scratch:16 i32:5 scratch:4
refused "a load before the start" 1 '4 bytes before the start of the buffer of 16 bytes' go get scratch:16 i32:-1 scratch:4
works "shared memory" go shared scratch:4 i32:24 --shared 100
refused "shared memory, by one element" 1 'access to byte 100 of shared memory, of which the block has 100' \
  go shared scratch:4 i32:25 --shared 100
works "a variable" go variable scratch:4 i32:2
refused "a variable's neighbour" 1 'the end of the variable table of 12 bytes' go variable scratch:4 i32:3
works "and at the end a good one" go put scratch:16 scratch:16 i32:4
finish
