// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_PROTO_NODE_PATH_H_
#define HOLDFAST_PROTO_NODE_PATH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// Where a node stands in a definition: the ids of the nodes that lead to it,
// through child graphs and branches, outermost first.
class NodePath {
 public:
  // Goes to node `id` of the definition that the path has entered. With
  // `Leave` undone.
  void Enter(uint32_t id) { steps_.push_back({id, std::nullopt}); }
  // Says which branch of the last node the following nodes are in.
  void SetBranch(uint32_t branch) { steps_.back().branch = branch; }
  void Leave() { steps_.pop_back(); }

  // Number of nodes.
  size_t size() const { return steps_.size(); }

  // "node 7, branch 0, node 3"
  std::string ToString() const;
  std::vector<uint32_t> ids() const;

 private:
  struct Step {
    uint32_t id = 0;
    std::optional<uint32_t> branch;
  };

  std::vector<Step> steps_;
};

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_NODE_PATH_H_
