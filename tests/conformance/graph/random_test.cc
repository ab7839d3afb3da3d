// SPDX-License-Identifier: Apache-2.0
//
// Random graphs of fills, copies and kernels against the same work done in a
// row.
#include "tests/conformance/graph/graph_api.h"
#include "tests/conformance/random_graph/random_program.h"

namespace holdfast::conformance {
namespace {

class Random : public GraphTest {
 protected:
  CUgraphNode AddOperation(const RandomOperation& o, const Nodes& after,
                           CUgraph graph) {
    switch (o.kind) {
      case RandomOperation::Kind::kFill:
        return AddFill(o.to, o.value, after, graph);
      case RandomOperation::Kind::kCopy:
        return AddCopy(o.to, o.from, after, graph);
      default:
        return AddAffine(o.to, o.from, o.value, after, graph);
    }
  }

  CUgraph MakeGraph(const RandomProgram& program) {
    CUgraph graph = nullptr;
    EXPECT_OK(Graphs().cuGraphCreate(&graph, 0));
    Nodes nodes;
    for (size_t i = 0; i < program.operations().size(); ++i) {
      Nodes after;
      for (const size_t earlier : program.DependenciesOf(i)) {
        after.push_back(nodes[earlier]);
      }
      nodes.push_back(AddOperation(program.operations()[i], after, graph));
    }
    return graph;
  }

  bool Agrees(const RandomProgram& program) {
    constexpr int kRuns = 3;
    EXPECT_OK(Cuda().cuMemsetD32_v2(array(0), 0, size_t{kArrays} * kWords));
    EXPECT_OK(Cuda().cuStreamSynchronize(nullptr));
    const CUgraph graph = MakeGraph(program);
    const CUgraphExec exec = Instantiate(graph);
    for (int i = 0; i < kRuns; ++i) {
      EXPECT_OK(Graphs().cuGraphLaunch(exec, stream_));
    }
    EXPECT_OK(Cuda().cuStreamSynchronize(stream_));
    EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
    EXPECT_OK(Graphs().cuGraphDestroy(graph));
    const std::vector<unsigned> expected = program.ResultOf(kRuns);
    for (int i = 0; i < kArrays; ++i) {
      if (Read(i) != std::vector<unsigned>(kWords, expected[i])) return false;
    }
    return true;
  }
};

TEST_F(Random, GraphsDoWhatTheSameWorkInARowDoes) {
  EXPECT_EQ(FindFailure(100, kArrays,
                        [this](const RandomProgram& program) {
                          return Agrees(program);
                        }),
            "");
}

}  // namespace
}  // namespace holdfast::conformance
