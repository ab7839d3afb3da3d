// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random_graph/random_program.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace holdfast::conformance {
namespace {

using Kind = RandomOperation::Kind;

TEST(RandomProgramTest, OperationsThatDoNotConflictAreIndependent) {
  const RandomProgram program({{Kind::kFill, 0, 1, 5},
                               {Kind::kFill, 1, 0, 7},
                               {Kind::kAffine, 0, 1, 2},
                               {Kind::kCopy, 2, 1},
                               {Kind::kFill, 1, 0, 9}},
                              /*arrays=*/3);
  EXPECT_EQ(program.DependenciesOf(1), std::vector<size_t>());
  EXPECT_EQ(program.DependenciesOf(2), (std::vector<size_t>{0, 1}));
  EXPECT_EQ(program.DependenciesOf(3), std::vector<size_t>{1});
  EXPECT_EQ(program.DependenciesOf(4), (std::vector<size_t>{1, 2, 3}));
  EXPECT_EQ(program.ResultOf(1), (std::vector<unsigned>{17, 9, 7}));
}

TEST(RandomProgramTest, ExtraEdgesCountBackwards) {
  const RandomProgram program({{Kind::kFill, 0, 1},
                               {Kind::kFill, 1, 0},
                               {Kind::kFill, 2, 0, 0, /*extra_edges=*/0b10}},
                              /*arrays=*/3);
  EXPECT_EQ(program.DependenciesOf(2), std::vector<size_t>{0});
}

TEST(RandomProgramTest, AFailureIsShrunkToTheOperationsThatMakeIt) {
  // A graph whose copies from array 3 after a fill of it go wrong.
  const auto check = [](const RandomProgram& program) {
    bool filled = false;
    for (const RandomOperation& operation : program.operations()) {
      if (operation.kind == Kind::kCopy && operation.from == 3 && filled) {
        return false;
      }
      filled |= operation.kind == Kind::kFill && operation.to == 3;
    }
    return true;
  };
  const std::string failure = FindFailure(100, /*arrays=*/4, check);
  EXPECT_NE(failure.find("HOLDFAST_GRAPH_SEED="), std::string::npos) << failure;
  EXPECT_EQ(std::count(failure.begin(), failure.end(), '\n'), 2) << failure;
  EXPECT_NE(failure.find("0: fill array 3 with "), std::string::npos)
      << failure;
  EXPECT_NE(failure.find("1: copy array 3 to "), std::string::npos) << failure;
  EXPECT_EQ(FindFailure(20, 4, [](const RandomProgram&) { return true; }), "");
}

}  // namespace
}  // namespace holdfast::conformance
