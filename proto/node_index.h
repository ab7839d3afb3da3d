// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_PROTO_NODE_INDEX_H_
#define HOLDFAST_PROTO_NODE_INDEX_H_

#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"

namespace holdfast {

// The positions of a definition's nodes by their ids. Ids usually count up by
// one, so that a position is the difference of two ids. For other ids there is
// a hash table.
class NodeIndex {
 public:
  // Adds the next node. Returns false if the id is taken.
  bool Append(uint32_t id);
  // Returns the node's position, or nullopt if there is no such node.
  std::optional<uint32_t> Find(uint32_t id) const;

 private:
  bool counts_up() const { return positions_.empty(); }
  void Hash();

  uint32_t first_ = 0;
  uint32_t size_ = 0;
  absl::flat_hash_map<uint32_t, uint32_t> positions_;
};

}  // namespace holdfast

#endif  // HOLDFAST_PROTO_NODE_INDEX_H_
