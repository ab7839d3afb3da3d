// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_PROTO_NODE_PATH_H_
#define HOLDFAST_PROTO_NODE_PATH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// The path of a node in a definition: the ids of the nodes that contain the
// node, through child graphs and branches, outermost first, and then the node's
// own id.
class NodePath {
 public:
  // Enter appends node `id` of the definition at the path's end. Leave undoes
  // it.
  void Enter(uint32_t id) { steps_.push_back({id, std::nullopt}); }
  // Sets the branch of the last node that contains the next node.
  void SetBranch(uint32_t branch) { steps_.back().branch = branch; }
  void Leave() { steps_.pop_back(); }

  // The number of nodes.
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
