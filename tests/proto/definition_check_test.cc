// SPDX-License-Identifier: Apache-2.0
#include "proto/definition_check.h"

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "gtest/gtest.h"
#include "proto/protocol_limits.h"

namespace holdfast {
namespace {

using absl::StatusCode;

v1::GraphDefinition Parse(const std::string& text) {
  v1::GraphDefinition definition;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &definition))
      << text;
  return definition;
}

absl::Status Check(const v1::GraphDefinition& definition) {
  DefinitionSize size;
  NodePath where;
  const absl::Status status = CheckDefinition(definition, &size, &where);
  return AtGraphNode(where.ToString(), where.ids(), status);
}

absl::Status Check(const v1::GraphDefinition& part, DefinitionPlace place) {
  NodePath where;
  const absl::Status status = CheckPart(part, place, &where);
  return AtGraphNode(where.ToString(), where.ids(), status);
}

// The text of a definition, why it is refused, and the node that it is about.
struct Refusal {
  std::string text;
  StatusCode code;
  std::string message;
  std::vector<uint32_t> node;
};

void ExpectRefused(const Refusal& refusal) {
  SCOPED_TRACE(refusal.text);
  const absl::Status status = Check(Parse(refusal.text));
  EXPECT_EQ(status.code(), refusal.code) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), refusal.message)) << status;
  const auto detail = GetErrorDetail(status);
  EXPECT_EQ(detail.has_value() ? detail->graph_node : std::vector<uint32_t>(),
            refusal.node);
}

TEST(DefinitionCheckTest, CountsNodesAndEdgesOfAllLevels) {
  DefinitionSize size;
  NodePath where;
  const absl::Status status = CheckDefinition(Parse(R"(
      conditions { id: 5 }
      nodes { id: 7 empty {} }
      nodes { id: 3 after: 7 child { nodes { id: 7 empty {} }
                                     nodes { id: 8 after: 7 empty {} } } }
      nodes { id: 4 after: 7 after: 3 conditional {
        condition: 5 kind: KIND_IF branches { nodes { id: 4 empty {} } }
        branches {} } })"),
                                              &size, &where);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(size.nodes, 6u);
  EXPECT_EQ(size.edges, 4u);
  EXPECT_TRUE(Check({}).ok()) << "a graph without nodes";
}

TEST(DefinitionCheckTest, DependenciesNameEarlierNodesOnce) {
  const auto invalid = StatusCode::kInvalidArgument;
  ExpectRefused({"nodes { id: 1 empty {} } nodes { id: 1 empty {} }",
                 invalid,
                 "node 1: another node has the same id",
                 {1}});
  ExpectRefused({"nodes { id: 1 after: 1 empty {} }",
                 invalid,
                 "node 1: it is to come after node 1, which does not stand "
                 "earlier",
                 {1}});
  ExpectRefused(
      {"nodes { id: 1 after: 2 empty {} } "
       "nodes { id: 2 after: 1 empty {} }",
       invalid,
       "after node 2",
       {1}});
  ExpectRefused(
      {"nodes { id: 1 empty {} } "
       "nodes { id: 2 after: 1 after: 1 empty {} }",
       invalid,
       "after node 1 twice",
       {2}});
  // Another level's nodes are not of this one.
  ExpectRefused(
      {"nodes { id: 1 empty {} } "
       "nodes { id: 2 child { nodes { id: 3 after: 1 empty {} } } }",
       invalid,
       "node 2, node 3: it is to come after node 1",
       {2, 3}});
  ExpectRefused({"nodes { id: 9 }", invalid, "without an operation", {9}});
}

TEST(DefinitionCheckTest, BranchesFitTheirKindAndHoldOnlyWhatCudaAllows) {
  const auto invalid = StatusCode::kInvalidArgument;
  const auto conditional = [](const std::string& rest) {
    return "conditions { id: 1 } nodes { id: 7 conditional { condition: 1 " +
           rest + "} }";
  };
  for (const char* rest :
       {"kind: KIND_IF", "kind: KIND_IF branches {} branches {} branches {}",
        "kind: KIND_WHILE", "kind: KIND_WHILE branches {} branches {}",
        "kind: KIND_SWITCH", "branches {}", "kind: 99 branches {}"}) {
    ExpectRefused({conditional(rest), invalid, "conditional node", {7}});
  }
  ExpectRefused(
      {conditional("kind: KIND_IF branches {} branches { "
                   "nodes { id: 2 child { nodes { id: 3 record {} } } } }"),
       invalid,
       "node 7, branch 1, node 2, node 3: a branch of a conditional",
       {7, 2, 3}});
  ExpectRefused({conditional("kind: KIND_WHILE branches { nodes { id: 2 "
                             "allocation {} } }"),
                 invalid,
                 "only the graph itself can allocate",
                 {7, 2}});
  ExpectRefused(
      {"conditions { id: 1 } nodes { id: 4 child { nodes { id: 5 "
       "conditional { condition: 1 kind: KIND_IF branches {} } } } }",
       invalid,
       "a child graph cannot have conditional nodes",
       {4, 5}});
}

TEST(DefinitionCheckTest, EachConditionIsDeclaredOnceAndTestedOnce) {
  const auto invalid = StatusCode::kInvalidArgument;
  const std::string test =
      "conditional { condition: 1 kind: KIND_IF branches {} }";
  ExpectRefused({"nodes { id: 7 " + test + " }",
                 invalid,
                 "node 7: condition 1 is not declared",
                 {7}});
  ExpectRefused({"conditions { id: 1 } conditions { id: 1 }",
                 invalid,
                 "condition 1 is declared twice",
                 {}});
  ExpectRefused({"conditions { id: 1 }",
                 invalid,
                 "condition 1 is tested by no node",
                 {}});
  ExpectRefused({"conditions { id: 1 } nodes { id: 7 " + test +
                     " } nodes { id: 8 " + test + " }",
                 invalid,
                 "node 8: condition 1 is tested by node 7 already",
                 {8}});
}

TEST(DefinitionCheckTest, APartMayLeaveConditionsToTheDefinitionAround) {
  const auto check = [](const std::string& text) {
    return Check(Parse(text), DefinitionPlace::kGraph);
  };
  const std::string test =
      "conditional { condition: 1 kind: KIND_IF branches {} }";
  EXPECT_TRUE(check("conditions { id: 1 }").ok());
  EXPECT_TRUE(check("nodes { id: 7 " + test + " }").ok());
  const std::string twice =
      "nodes { id: 7 " + test + " } nodes { id: 8 " + test + " }";
  for (const std::string& text : {twice, "conditions { id: 1 } " + twice}) {
    EXPECT_TRUE(
        absl::StrContains(check(text).message(),
                          "node 8: condition 1 is tested by node 7 already"))
        << text;
  }
  EXPECT_FALSE(check("conditions { id: 1 } conditions { id: 1 }").ok());
}

TEST(DefinitionCheckTest, APartHoldsOnlyWhatItsPlaceAllows) {
  const v1::GraphDefinition record = Parse("nodes { id: 3 record {} }");
  EXPECT_TRUE(Check(record, DefinitionPlace::kGraph).ok());
  EXPECT_TRUE(Check(record, DefinitionPlace::kChild).ok());
  EXPECT_EQ(Check(record, DefinitionPlace::kBranch).message(),
            "node 3: a branch of a conditional node cannot record events");
}

// Limits are reached, and one more is refused.

v1::GraphDefinition Nested(uint32_t depth) {
  v1::GraphDefinition definition;
  v1::GraphDefinition* inner = &definition;
  for (uint32_t level = 1; level < depth; ++level) {
    inner = inner->add_nodes()->mutable_child();
  }
  return definition;
}

TEST(DefinitionCheckTest, DepthIsLimited) {
  EXPECT_TRUE(Check(Nested(kMaxGraphDepth)).ok());
  const absl::Status status = Check(Nested(kMaxGraphDepth + 1));
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat(kMaxGraphDepth)))
      << status;
  EXPECT_EQ(Check(Nested(10'000)).code(), StatusCode::kOutOfRange);
}

TEST(DefinitionCheckTest, TheDeepestDefinitionCanBeParsed) {
  v1::GraphDefinition definition;
  v1::GraphDefinition* inner = &definition;
  for (uint32_t level = 1; level < kMaxGraphDepth; ++level) {
    inner->add_conditions()->set_id(level);
    v1::ConditionalNode& node = *inner->add_nodes()->mutable_conditional();
    node.set_condition(level);
    node.set_kind(v1::ConditionalNode::KIND_WHILE);
    inner = node.add_branches();
  }
  ASSERT_TRUE(Check(definition).ok());
  v1::GraphDefinition parsed;
  EXPECT_TRUE(parsed.ParseFromString(definition.SerializeAsString()));
}

TEST(DefinitionCheckTest, NodesAreLimitedInSum) {
  v1::GraphDefinition definition;
  v1::GraphDefinition& child = *definition.add_nodes()->mutable_child();
  for (uint32_t id = 1; id < kMaxGraphNodes; ++id) {
    v1::GraphNode& node = *child.add_nodes();
    node.set_id(id);
    node.mutable_empty();
  }
  EXPECT_TRUE(Check(definition).ok());
  v1::GraphNode& last = *child.add_nodes();
  last.set_id(kMaxGraphNodes);
  last.mutable_empty();
  EXPECT_EQ(Check(definition).code(), StatusCode::kOutOfRange);
}

TEST(DefinitionCheckTest, EdgesAreLimitedInSum) {
  v1::GraphDefinition definition;
  uint32_t id = 0;
  for (uint32_t edges = 0; edges <= kMaxGraphEdges; edges += id++) {
    v1::GraphNode& node = *definition.add_nodes();
    node.set_id(id);
    node.mutable_empty();
    for (uint32_t earlier = 0; earlier < id; ++earlier) {
      node.add_after(earlier);
    }
  }
  EXPECT_EQ(Check(definition).code(), StatusCode::kOutOfRange);
  definition.mutable_nodes()->RemoveLast();
  EXPECT_TRUE(Check(definition).ok());
}

TEST(DefinitionCheckTest, BranchesOfASwitchAreLimited) {
  v1::GraphDefinition definition = Parse(
      "conditions { id: 1 } nodes { id: 7 conditional { condition: 1 "
      "kind: KIND_SWITCH } }");
  v1::ConditionalNode& node =
      *definition.mutable_nodes(0)->mutable_conditional();
  for (uint32_t i = 0; i < kMaxGraphBranches; ++i) node.add_branches();
  EXPECT_TRUE(Check(definition).ok());
  node.add_branches();
  EXPECT_EQ(Check(definition).code(), StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace holdfast
