// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Halves the number of values until one is left, with a barrier of the whole
// grid between the rounds.
extern "C" __global__ void cooperative_reduce(int* values, int n) {
  cg::grid_group grid = cg::this_grid();
  for (int half = n / 2; half > 0; half /= 2) {
    for (int i = grid.thread_rank(); i < half; i += grid.size()) {
      values[i] += values[i + half];
    }
    grid.sync();
  }
}
