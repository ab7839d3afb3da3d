# SPDX-License-Identifier: Apache-2.0
"""Functions that are called: by pointer, by themselves, and one after the other."""

import numpy as np

from checks import build, down, equal, finish, run, up, zeros

SOURCE = r"""
typedef unsigned long long u64;
__device__ __noinline__ u64 walk(int n, u64 a) {
  if (n <= 0) return a ^ 9;
  u64 room[4] = {a, a * 3 + n, a >> 1, a + 7};
  return walk(n - 1, room[a % 4]) * 17 + walk(n - 2 - (int)(a & 1), room[(a + 1) % 4]);
}
__device__ u64 plus(u64 a, u64 b) { return a + 2 * b; }
__device__ u64 mix(u64 a, u64 b) { return (a ^ b) * 5; }
__device__ u64 less(u64 a, u64 b) { return a < b ? b - a : a; }
template <int order>
__global__ void indirect(const u64* x, u64* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  u64 (*table[3])(u64, u64) = {plus, mix, less};
  u64 v = x[i], w = v;
  if (order == 0) { w = table[v % 3](v, 7); w += walk(v % 5, w); }
  if (order == 1) { w = walk(v % 5, v); w += table[v % 3](v, w); }
  if (order == 2) for (u64 j = 0; j < v % 4; ++j) { w += walk(w % 4, w); w = table[w % 3](v, w); }
  out[i] = w;
}
"""
MASK = (1 << 64) - 1


def walk(n, a):
    if n <= 0:
        return (a ^ 9) & MASK
    room = [a, a * 3 + n & MASK, a >> 1, a + 7 & MASK]
    return walk(n - 1, room[a % 4]) * 17 + walk(n - 2 - (a & 1), room[(a + 1) % 4]) & MASK


TABLE = [lambda a, b: a + 2 * b & MASK, lambda a, b: (a ^ b) * 5 & MASK, lambda a, b: b - a if a < b else a]


def wanted(v, order):
    w = v
    if order == 0:
        w = TABLE[v % 3](v, 7)
        w = w + walk(v % 5, w) & MASK
    if order == 1:
        w = walk(v % 5, v)
        w = w + TABLE[v % 3](v, w) & MASK
    if order == 2:
        for _ in range(v % 4):
            w = w + walk(w % 4, w) & MASK
            w = TABLE[w % 3](v, w)
    return w


names = [f"indirect<{order}>" for order in range(3)]
module = build(SOURCE, names=names)
x = np.random.default_rng(5).integers(0, 2**40, 50).astype(np.uint64)
there = up(x)
for order, name in enumerate(("before recursion", "after recursion", "in a loop with recursion")):
    for block in (1, 7, 32, 64):
        out = zeros(50, np.uint64)
        run(module.get_kernel(names[order]), -(-50 // block), block, there, out, np.int32(50))
        equal(f"a function by pointer {name}, {block} threads", down(out, np.uint64), np.array([wanted(int(v), order) for v in x], np.uint64))

# A tree: each function calls the next one twice, so that the last one is called 2^14 times from one line.
TREE = """
template <int N> struct Tree {
  static __device__ __noinline__ unsigned at(unsigned x, unsigned y) {
    return Tree<N - 1>::at(x * 3 + y, y) ^ (Tree<N - 1>::at(x + N, y * 5) + N);
  }
};
template <> struct Tree<0> {
  static __device__ __noinline__ unsigned at(unsigned x, unsigned y) { return x * y + 7; }
};
extern "C" __global__ void tree(unsigned* x) { x[threadIdx.x] = Tree<14>::at(threadIdx.x, x[threadIdx.x]); }
"""


def tree(n, x, y):
    if n == 0:
        return x * y + np.uint32(7)
    return tree(n - 1, x * np.uint32(3) + y, y) ^ (tree(n - 1, x + np.uint32(n), y * np.uint32(5)) + np.uint32(n))


start = np.arange(40, dtype=np.uint32) * np.uint32(17) + np.uint32(3)
there = up(start)
run(build(TREE).get_kernel("tree"), 1, 40, there)
equal("a tree of calls", down(there, np.uint32), tree(14, np.arange(40, dtype=np.uint32), start))
finish()
