// SPDX-License-Identifier: Apache-2.0
// One level of a breadth-first search; *changed tells whether it went on.
extern "C" __global__ void bfs_level(const int* starts, const int* neighbours,
                                     int* levels, int level, int* changed,
                                     int n) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || levels[v] != level) return;
  for (int k = starts[v]; k < starts[v + 1]; ++k) {
    const int to = neighbours[k];
    if (levels[to] < 0) {
      levels[to] = level + 1;
      *changed = 1;
    }
  }
}

// The frontier as a queue.
extern "C" __global__ void bfs_queue(const int* starts, const int* neighbours,
                                     int* levels, int level,
                                     const int* frontier, int count, int* next,
                                     int* next_count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int v = frontier[i];
  for (int k = starts[v]; k < starts[v + 1]; ++k) {
    const int to = neighbours[k];
    if (atomicCAS(&levels[to], -1, level + 1) == -1) {
      next[atomicAdd(next_count, 1)] = to;
    }
  }
}

__device__ int Root(volatile int* parents, int v) {
  while (parents[v] != v) v = parents[v];
  return v;
}

// Connected components: the smaller root becomes the parent of the larger.
extern "C" __global__ void union_edges(const int2* edges, int* parents,
                                       int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int a = Root(parents, edges[i].x), b = Root(parents, edges[i].y);
  while (a != b) {
    if (a < b) {
      const int t = a;
      a = b;
      b = t;
    }
    const int old = atomicCAS(&parents[a], a, b);
    if (old == a) break;
    a = Root(parents, old);
    b = Root(parents, b);
  }
}

extern "C" __global__ void union_flatten(int* parents, int n) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n) parents[v] = Root(parents, v);
}
