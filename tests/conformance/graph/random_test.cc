// SPDX-License-Identifier: Apache-2.0
//
// Random graphs of fills, copies and kernels against the same work done in a
// row. A failure is shrunk to the fewest operations that still fail; the seed
// is printed, and taken from $HOLDFAST_GRAPH_SEED.
#include <array>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/conformance/graph/graph_api.h"

namespace holdfast::conformance {
namespace {

struct Operation {
  enum class Kind { kFill, kCopy, kAffine };
  Kind kind = Kind::kFill;
  int to = 0, from = 0;
  unsigned value = 0;        // of a fill, or the factor of a kernel
  uint64_t extra_edges = 0;  // bit i: to the operation i + 1 before, if any

  bool Reads(int array) const {
    return (kind != Kind::kFill && from == array) ||
           (kind == Kind::kAffine && to == array);
  }
  // Whether the two give another result in another order.
  bool Conflicts(const Operation& other) const {
    return to == other.to || Reads(other.to) || other.Reads(to);
  }
};
using Program = std::vector<Operation>;

class Random : public GraphTest {
 protected:
  using Words = std::array<unsigned, kArrays>;  // arrays hold one value each

  static Program Generate(uint64_t seed) {
    std::mt19937_64 random(seed);
    Program program(1 + random() % 60);
    for (Operation& operation : program) {
      operation.kind = static_cast<Operation::Kind>(random() % 3);
      operation.to = static_cast<int>(random() % kArrays);
      operation.from = static_cast<int>(random() % kArrays);
      // A copy onto itself is no copy that CUDA promises anything about.
      if (operation.from == operation.to)
        operation.from = (operation.to + 1) % kArrays;
      operation.value = static_cast<unsigned>(random() % 100);
      operation.extra_edges = random() & random() & random();
    }
    return program;
  }

  static Words InARow(const Program& program, int rounds) {
    Words words{};
    for (int round = 0; round < rounds; ++round) {
      for (const Operation& o : program) {
        unsigned& to = words[o.to];
        switch (o.kind) {
          case Operation::Kind::kFill:
            to = o.value;
            break;
          case Operation::Kind::kCopy:
            to = words[o.from];
            break;
          case Operation::Kind::kAffine:
            to = to * o.value + words[o.from];
            break;
        }
      }
    }
    return words;
  }

  CUgraphNode AddOperation(const Operation& o, const Nodes& after,
                           CUgraph graph) {
    switch (o.kind) {
      case Operation::Kind::kFill:
        return AddFill(o.to, o.value, after, graph);
      case Operation::Kind::kCopy:
        return AddCopy(o.to, o.from, after, graph);
      default:
        return AddAffine(o.to, o.from, o.value, after, graph);
    }
  }

  // Only what conflicts is ordered, besides the extra edges.
  bool Agrees(const Program& program) {
    constexpr int kRounds = 3;
    EXPECT_OK(Cuda().cuMemsetD32_v2(array(0), 0, size_t{kArrays} * kWords));
    CUgraph graph = nullptr;
    EXPECT_OK(Graphs().cuGraphCreate(&graph, 0));
    Nodes nodes;
    for (size_t i = 0; i < program.size(); ++i) {
      Nodes after;
      for (size_t j = 0; j < i; ++j) {
        const size_t back = i - j - 1;
        const bool extra =
            back < 64 && (program[i].extra_edges >> back & 1) != 0;
        if (extra || program[i].Conflicts(program[j]))
          after.push_back(nodes[j]);
      }
      nodes.push_back(AddOperation(program[i], after, graph));
    }
    const CUgraphExec exec = Instantiate(graph);
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_OK(Graphs().cuGraphLaunch(exec, stream_));
    }
    EXPECT_OK(Cuda().cuStreamSynchronize(stream_));
    EXPECT_OK(Graphs().cuGraphExecDestroy(exec));
    EXPECT_OK(Graphs().cuGraphDestroy(graph));
    const Words expected = InARow(program, kRounds);
    for (int i = 0; i < kArrays; ++i) {
      if (Read(i) != std::vector<unsigned>(kWords, expected[i])) return false;
    }
    return true;
  }

  // Leaves operations out, one at a time, as long as the rest still fails.
  Program Shrink(Program program) {
    for (size_t i = program.size(); i-- > 0;) {
      Program fewer = program;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (!Agrees(fewer)) program = std::move(fewer);
    }
    return program;
  }

  static std::string Describe(const Program& program) {
    std::string text;
    for (const Operation& o : program) {
      text += "\n  kind " + std::to_string(static_cast<int>(o.kind)) + " to " +
              std::to_string(o.to) + " from " + std::to_string(o.from) +
              " value " + std::to_string(o.value);
    }
    return text;
  }
};

TEST_F(Random, GraphsDoWhatTheSameWorkInARowDoes) {
  const char* given = getenv("HOLDFAST_GRAPH_SEED");
  const uint64_t first = given == nullptr ? 1 : strtoull(given, nullptr, 10);
  for (uint64_t seed = first; seed < first + 100; ++seed) {
    const Program program = Generate(seed);
    if (Agrees(program)) continue;
    FAIL() << "HOLDFAST_GRAPH_SEED=" << seed << Describe(Shrink(program));
  }
}

}  // namespace
}  // namespace holdfast::conformance
