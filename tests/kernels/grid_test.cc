// SPDX-License-Identifier: Apache-2.0
//
// Stencils, sparse matrices, graphs, sorting: kernels over larger data.
#include <algorithm>
#include <functional>
#include <numeric>

#include "tests/kernels/kernel_test.h"

namespace holdfast::kernels {
namespace {

class Grid : public KernelTest {};

TEST_F(Grid, Stencil1d) {
  Load("stencil");
  constexpr int kCount = 1000;
  const auto in = RandomBelow(kCount, 1000);
  std::vector<int> expected(kCount);
  for (int i = 0; i < kCount; ++i) {
    for (int o = -3; o <= 3; ++o) {
      if (i + o >= 0 && i + o < kCount) expected[i] += in[i + o];
    }
  }
  const Array<int> out(kCount);
  Launch("stencil_1d", {4}, {256}, Upload(in), out, kCount);
  ExpectBits(out, expected);
}

TEST_F(Grid, Stencil2d) {
  Load("stencil");
  constexpr int kWidth = 130, kHeight = 67;
  const auto in = Random<float>(kWidth * kHeight);
  std::vector<float> expected(in.size());
  for (int y = 1; y < kHeight - 1; ++y) {
    for (int x = 1; x < kWidth - 1; ++x) {
      const float* at = &in[y * kWidth + x];
      expected[y * kWidth + x] =
          0.5f * at[0] + 0.125f * (at[-1] + at[1] + at[-kWidth] + at[kWidth]);
    }
  }
  const Array<float> out = Zeros<float>(in.size());
  Launch("stencil_2d", {5, 9}, {32, 8}, Upload(in), out, kWidth, kHeight);
  ExpectBits(out, expected);
}

TEST_F(Grid, Stencil3d) {
  Load("stencil");
  constexpr int kX = 40, kY = 20, kZ = 12, kPlane = kX * kY;
  const auto in = Random<float>(kPlane * kZ);
  std::vector<float> expected(in.size());
  for (int z = 1; z < kZ - 1; ++z) {
    for (int y = 1; y < kY - 1; ++y) {
      for (int x = 1; x < kX - 1; ++x) {
        const int i = z * kPlane + y * kX + x;
        expected[i] =
            0.4f * in[i] + 0.1f * (in[i - kPlane] + in[i + kPlane] + in[i - 1] +
                                   in[i + 1] + in[i - kX] + in[i + kX]);
      }
    }
  }
  const Array<float> out = Zeros<float>(in.size());
  Launch("stencil_3d", {3, 5}, {16, 4}, Upload(in), out, kX, kY, kZ);
  ExpectBits(out, expected);
}

TEST_F(Grid, Convolution) {
  Load("convolution");
  constexpr int kWidth = 61, kHeight = 43;
  const auto in = Random<float>(kWidth * kHeight),
             weights = Random<float>(25, 7);
  std::vector<float> expected(in.size());
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      float sum = 0;
      for (int dy = -2; dy <= 2; ++dy) {
        for (int dx = -2; dx <= 2; ++dx) {
          const int cx = std::clamp(x + dx, 0, kWidth - 1);
          const int cy = std::clamp(y + dy, 0, kHeight - 1);
          sum += weights[(dy + 2) * 5 + dx + 2] * in[cy * kWidth + cx];
        }
      }
      expected[y * kWidth + x] = sum;
    }
  }
  SetGlobal("weights", weights);
  const Array<float> out(in.size());
  Launch("convolution", {4, 6}, {16, 8}, Upload(in), out, kWidth, kHeight);
  ExpectBits(out, expected);
}

TEST_F(Grid, Jacobi) {
  Load("stencil");
  constexpr int kRounds = 50;
  std::vector<double> line = Random<double>(258);
  const Array<double> device = Upload(line);
  for (int r = 0; r < kRounds; ++r) {
    const std::vector<double> old = line;
    for (int i = 1; i <= 256; ++i) line[i] = 0.5 * (old[i - 1] + old[i + 1]);
  }
  Launch("jacobi", {1}, {256}, device, kRounds);
  ExpectBits(device, line);
}

TEST_F(Grid, GaussSeidelWavefront) {
  Load("stencil");
  constexpr int kSize = 66;
  std::vector<float> grid = Random<float>(kSize * kSize);
  const Array<float> device = Upload(grid);
  for (int row = 1; row <= kSize - 2; ++row) {
    for (int col = 1; col <= kSize - 2; ++col) {
      float* at = &grid[row * kSize + col];
      *at = 0.25f * (at[-1] + at[1] + at[-kSize] + at[kSize]);
    }
  }
  Launch("gauss_seidel", {1}, {kSize - 2}, device, kSize);
  ExpectBits(device, grid);
}

TEST_F(Grid, GameOfLife) {
  Load("stencil");
  constexpr int kWidth = 50, kHeight = 38;
  auto in = Random<uint8_t>(kWidth * kHeight);
  for (uint8_t& cell : in) cell &= 1;
  std::vector<uint8_t> expected(in.size());
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      int neighbours = -in[y * kWidth + x];
      for (int d = 0; d < 9; ++d) {
        neighbours += in[(y + d / 3 + kHeight - 1) % kHeight * kWidth +
                         (x + d % 3 + kWidth - 1) % kWidth];
      }
      expected[y * kWidth + x] =
          neighbours == 3 || (in[y * kWidth + x] && neighbours == 2);
    }
  }
  const Array<uint8_t> out(in.size());
  Launch("life", {4, 5}, {16, 8}, Upload(in), out, kWidth, kHeight);
  ExpectBits(out, expected);
}

// A sparse matrix in rows of different lengths.
struct Sparse {
  explicit Sparse(int rows) : starts(rows + 1) {
    const auto lengths = RandomBelow(rows, 70, 5);
    for (int r = 0; r < rows; ++r) starts[r + 1] = starts[r] + lengths[r];
    columns = RandomBelow(starts[rows], rows, 6);
    values = Random<float>(starts[rows], 7);
  }
  std::vector<int> starts, columns;
  std::vector<float> values;
};

TEST_F(Grid, SparseRowsByThreads) {
  Load("spmv");
  constexpr int kRows = 300;
  const Sparse m(kRows);
  const auto x = Random<float>(kRows, 8);
  std::vector<float> expected(kRows);
  for (int r = 0; r < kRows; ++r) {
    for (int k = m.starts[r]; k < m.starts[r + 1]; ++k) {
      expected[r] += m.values[k] * x[m.columns[k]];
    }
  }
  const Array<float> y(kRows);
  Launch("spmv_csr", {BlocksFor(kRows, 64)}, {64}, Upload(m.starts),
         Upload(m.columns), Upload(m.values), Upload(x), y, kRows);
  ExpectBits(y, expected);
}

TEST_F(Grid, SparseRowsByWarps) {
  Load("spmv");
  constexpr int kRows = 300;
  const Sparse m(kRows);
  const auto x = Random<float>(kRows, 8);
  std::vector<float> expected(kRows);
  for (int r = 0; r < kRows; ++r) {
    float lanes[32] = {};
    for (int l = 0; l < 32; ++l) {
      for (int k = m.starts[r] + l; k < m.starts[r + 1]; k += 32) {
        lanes[l] += m.values[k] * x[m.columns[k]];
      }
    }
    for (int half = 16; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    }
    expected[r] = lanes[0];
  }
  const Array<float> y(kRows);
  Launch("spmv_csr_warp", {BlocksFor(32 * kRows, 128)}, {128}, Upload(m.starts),
         Upload(m.columns), Upload(m.values), Upload(x), y, kRows);
  ExpectBits(y, expected);
}

TEST_F(Grid, SparseRowsOfEqualWidth) {
  Load("spmv");
  constexpr int kRows = 400, kWidth = 9;
  auto columns = RandomBelow(kRows * kWidth, kRows + 50, 3);
  const auto values = Random<float>(kRows * kWidth),
             x = Random<float>(kRows, 8);
  std::vector<float> expected(kRows);
  for (int k = 0; k < kWidth; ++k) {
    for (int r = 0; r < kRows; ++r) {
      int& column = columns[k * kRows + r];
      if (column >= kRows) column = -1;
      if (column >= 0) expected[r] += values[k * kRows + r] * x[column];
    }
  }
  const Array<float> y(kRows);
  Launch("spmv_ell", {BlocksFor(kRows, 96)}, {96}, Upload(columns),
         Upload(values), Upload(x), y, kRows, kWidth);
  ExpectBits(y, expected);
}

// A random graph with edges in both directions.
struct Graph {
  explicit Graph(int vertices) : starts(vertices + 1) {
    const auto ends = RandomBelow(2 * vertices, vertices, 11);
    std::vector<std::vector<int>> lists(vertices);
    for (int e = 0; e < vertices; ++e) {
      // Half of the vertices hang together loosely, the rest by chance.
      const int a = ends[2 * e] / 2, b = ends[2 * e + 1] / (1 + e % 2);
      edges.push_back(a);
      edges.push_back(b);
      lists[a].push_back(b);
      lists[b].push_back(a);
    }
    for (int v = 0; v < vertices; ++v) {
      starts[v + 1] = starts[v] + static_cast<int>(lists[v].size());
      neighbours.insert(neighbours.end(), lists[v].begin(), lists[v].end());
    }
  }
  std::vector<int> Levels() const {
    std::vector<int> levels(starts.size() - 1, -1), queue = {0};
    levels[0] = 0;
    for (size_t at = 0; at < queue.size(); ++at) {
      const int v = queue[at];
      for (int k = starts[v]; k < starts[v + 1]; ++k) {
        int& level = levels[neighbours[k]];
        if (level >= 0) continue;
        level = levels[v] + 1;
        queue.push_back(neighbours[k]);
      }
    }
    return levels;
  }
  std::vector<int> starts, neighbours, edges;
};

TEST_F(Grid, BreadthFirstByLevels) {
  Load("graph");
  constexpr int kVertices = 1500;
  const Graph graph(kVertices);
  std::vector<int> first(kVertices, -1);
  first[0] = 0;
  const Array<int> starts = Upload(graph.starts),
                   neighbours = Upload(graph.neighbours),
                   levels = Upload(first);
  for (int level = 0; level < kVertices; ++level) {
    const Array<int> changed = Zeros<int>(1);
    Launch("bfs_level", {BlocksFor(kVertices, 128)}, {128}, starts, neighbours,
           levels, level, changed, kVertices);
    if (HasFatalFailure() || changed.Download()[0] == 0) break;
  }
  ExpectBits(levels, graph.Levels());
}

TEST_F(Grid, BreadthFirstByQueues) {
  Load("graph");
  constexpr int kVertices = 1500;
  const Graph graph(kVertices);
  std::vector<int> first(kVertices, -1);
  first[0] = 0;
  const Array<int> starts = Upload(graph.starts),
                   neighbours = Upload(graph.neighbours),
                   levels = Upload(first);
  std::vector<int> frontier = {0};
  for (int level = 0; !frontier.empty() && level < kVertices; ++level) {
    const int count = static_cast<int>(frontier.size());
    const Array<int> next(kVertices), next_count = Zeros<int>(1);
    Launch("bfs_queue", {BlocksFor(count, 128)}, {128}, starts, neighbours,
           levels, level, Upload(frontier), count, next, next_count);
    if (HasFatalFailure()) return;
    frontier = next.Download();
    frontier.resize(next_count.Download()[0]);
  }
  ExpectBits(levels, graph.Levels());
}

TEST_F(Grid, UnionFind) {
  Load("graph");
  constexpr int kVertices = 1200;
  const Graph graph(kVertices);
  std::vector<int> parents(kVertices), expected(kVertices);
  std::iota(parents.begin(), parents.end(), 0);
  // The smallest vertex of a component names it.
  expected = parents;
  const std::function<int(int)> root = [&](int v) {
    return expected[v] == v ? v : expected[v] = root(expected[v]);
  };
  for (size_t e = 0; e < graph.edges.size(); e += 2) {
    const int a = root(graph.edges[e]), b = root(graph.edges[e + 1]);
    expected[std::max(a, b)] = std::min(a, b);
  }
  for (int v = 0; v < kVertices; ++v) expected[v] = root(v);
  const Array<int> labels = Upload(parents);
  const int count = static_cast<int>(graph.edges.size() / 2);
  Launch("union_edges", {BlocksFor(count, 128)}, {128}, Upload(graph.edges),
         labels, count);
  Launch("union_flatten", {BlocksFor(kVertices, 128)}, {128}, labels,
         kVertices);
  ExpectBits(labels, expected);
}

TEST_F(Grid, BitonicSortInBlocks) {
  Load("sort");
  auto keys = Random<uint32_t>(1024);
  const Array<uint32_t> device = Upload(keys);
  std::sort(keys.begin(), keys.begin() + 512);
  std::sort(keys.begin() + 512, keys.end());
  Launch("bitonic_shared", {2}, {256}, device);
  ExpectBits(device, keys);
}

TEST_F(Grid, BitonicSortInSteps) {
  Load("sort");
  constexpr int kCount = 2048;
  auto keys = Random<uint32_t>(kCount);
  const Array<uint32_t> device = Upload(keys);
  for (int size = 2; size <= kCount; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      Launch("bitonic_step", {kCount / 256}, {256}, device, stride, size);
    }
  }
  std::sort(keys.begin(), keys.end());
  ExpectBits(device, keys);
}

TEST_F(Grid, RadixSort) {
  Load("sort");
  auto keys = Random<uint32_t>(1024);
  const Array<uint32_t> a = Upload(keys), b(1024);
  for (int shift = 0; shift < 32; shift += 8) {
    Launch("radix_pass", {1}, {256}, a, b, shift);
    Launch("radix_pass", {1}, {256}, b, a, shift + 4);
  }
  std::sort(keys.begin(), keys.end());
  ExpectBits(a, keys);
}

TEST_F(Grid, MergePath) {
  Load("sort");
  auto a = RandomBelow(1000, 500, 1), b = RandomBelow(777, 500, 2);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<int> expected(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
  const Array<int> out(expected.size());
  Launch("merge_path", {BlocksFor(BlocksFor(expected.size(), 8), 64)}, {64},
         Upload(a), 1000, Upload(b), 777, out);
  ExpectBits(out, expected);
}

TEST_F(Grid, QuicksortByRecursion) {
  Load("recursion");
  constexpr int kThreads = 100, kEach = 37;
  auto keys = Random<int32_t>(kThreads * kEach);
  const Array<int32_t> device = Upload(keys);
  for (int t = 0; t < kThreads; ++t) {
    std::sort(&keys[t * kEach], &keys[t * kEach] + kEach);
  }
  Launch("quicksort", {2}, {64}, device, kEach, kThreads);
  ExpectBits(device, keys);
}

}  // namespace
}  // namespace holdfast::kernels
