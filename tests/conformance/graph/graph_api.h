// SPDX-License-Identifier: Apache-2.0
//
// Shared by the suites about graphs: the functions of the driver under test,
// and a fixture with memory and a kernel.
#ifndef HOLDFAST_TESTS_CONFORMANCE_GRAPH_GRAPH_API_H_
#define HOLDFAST_TESTS_CONFORMANCE_GRAPH_GRAPH_API_H_

#include <cstdint>
#include <vector>

#include "cuda.h"
#include "tests/conformance/driver/api.h"

namespace holdfast::conformance {

// As Api, with the functions of functions.inc in this folder.
struct GraphApi {
#define HOLDFAST_FUNCTION(name) decltype(&::name) name = nullptr;
#define HOLDFAST_VERSIONED(name, symbol) decltype(&::symbol) symbol = nullptr;
#include "tests/conformance/graph/functions.inc"
#undef HOLDFAST_FUNCTION
#undef HOLDFAST_VERSIONED
};
const GraphApi& Graphs();

using Nodes = std::vector<CUgraphNode>;

// Arrays of words in device memory, a stream, a graph, and a kernel
//   affine(unsigned* to, const unsigned* from, unsigned factor, unsigned count)
// that sets to[i] = to[i] * factor + from[i].
class GraphTest : public ContextTest {
 protected:
  static constexpr unsigned kWords = 1000;  // of each array
  static constexpr int kArrays = 6;

  void SetUp() override;
  void TearDown() override;

  // Each array starts as zeros.
  CUdeviceptr array(int index) const {
    return memory_ + static_cast<size_t>(index) * kWords * sizeof(unsigned);
  }
  std::vector<unsigned> Read(int index);
  // Expects all words of the array to be `value`.
  void ExpectArray(int index, unsigned value);

  // All of these add to `graph_` unless another graph is given.
  CUgraphNode AddFill(int array, unsigned value, const Nodes& after = {},
                      CUgraph graph = nullptr);
  CUgraphNode AddCopy(int to, int from, const Nodes& after = {},
                      CUgraph graph = nullptr);
  CUgraphNode AddAffine(int to, int from, unsigned factor,
                        const Nodes& after = {}, CUgraph graph = nullptr);
  CUgraphNode AddEmpty(const Nodes& after = {}, CUgraph graph = nullptr);

  CUDA_MEMSET_NODE_PARAMS FillOf(int array, unsigned value) const;
  CUDA_MEMCPY3D CopyOf(int to, int from) const;
  // AffineOf fills `arguments`; its result points to them.
  struct Arguments {
    CUdeviceptr to, from;
    unsigned factor, count = kWords;
    void* pointers[4] = {&to, &from, &factor, &count};
  };
  CUDA_KERNEL_NODE_PARAMS AffineOf(Arguments& arguments) const;

  CUgraphExec Instantiate(CUgraph graph = nullptr);
  // Launches and waits.
  void Run(CUgraphExec exec);
  // Instantiates, launches, waits and destroys.
  void RunOnce();

  CUgraph graph_ = nullptr;
  CUstream stream_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction affine_ = nullptr;

 private:
  CUdeviceptr memory_ = 0;
};

}  // namespace holdfast::conformance

#endif  // HOLDFAST_TESTS_CONFORMANCE_GRAPH_GRAPH_API_H_
