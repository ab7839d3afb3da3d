#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kernels that go wrong: one command fails with the reason, the next one is served.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
cat >f.cu <<'SOURCE'
extern "C" __global__ void store(int* x, long long i) { x[i] = 1; }
extern "C" __global__ void vector(char* x, int offset) { *(int4*)(x + offset) = make_int4(1, 2, 3, 4); }
extern "C" __global__ void endless(int* x) { while (atomicAdd(x, 0) == 0) {} }
extern "C" __global__ void stop(int* x) { if (threadIdx.x == 3) __trap(); x[threadIdx.x] = 1; }
__device__ __noinline__ int deep(int n) { volatile int room[64]; room[n % 64] = n; return n == 0 ? room[0] : deep(n - 1) + room[n % 64]; }
extern "C" __global__ void recurse(int* x, int n) { x[threadIdx.x] = deep(n); }
SOURCE
# shellcheck disable=SC2317  # the helpers call it
go() { holdfast run f.cu --kernel "$1" --grid 1 --block 32 "${@:2}"; }
works "a store" go store scratch:64 i64:3
refused "a stray store" 1 'ILLEGAL_ADDRESS' go store scratch:64 i64:1099511627776
works "the next one" go store scratch:64 i64:3
works "an aligned vector" go vector scratch:64 i32:16
refused "a vector that is not aligned" 1 'MISALIGNED|not a multiple' go vector scratch:64 i32:4
refused "a trap" 1 'trap|LAUNCH_FAILED' go stop scratch:128
# A GPU has 1 KiB of stack for each thread.
works "recursion" go recurse scratch:128 i32:2
refused "recursion without end" 1 'STACK|ILLEGAL' go recurse scratch:128 i32:1000000
refused "a kernel without end" 1 'has run for' go endless scratch:4 --kernel-time-limit=1s
cat >t.cu <<'SOURCE'
template <typename T> __global__ void put(T* x, long long i) { x[i] = 1; }
SOURCE
refused "a template's fault" 1 'kernel put<int>, block' holdfast run t.cu --kernel 'put<int>' --grid 1 --block 1 scratch:64 i64:1099511627776
same "with its name in the source alone" "$(grep -c _Z out)" 0
same "told once" "$(grep -o 'thread (0,0,0)' out | wc -l)" 1
refused "an argument too few" 1 'kernel put<int> takes 2 arguments' holdfast run t.cu --kernel 'put<int>' --grid 1 --block 1 scratch:64
works "and at the end a good one" go store scratch:64 i64:3
finish
