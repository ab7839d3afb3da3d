// SPDX-License-Identifier: Apache-2.0
#include "proto/node_index.h"

namespace holdfast {

bool NodeIndex::Append(uint32_t id) {
  if (counts_up()) {
    if (size_ == 0) first_ = id;
    if (id == uint64_t{first_} + size_) {
      ++size_;
      return true;
    }
    Hash();
  }
  if (!positions_.emplace(id, size_).second) return false;
  ++size_;
  return true;
}

std::optional<uint32_t> NodeIndex::Find(uint32_t id) const {
  if (counts_up()) {
    if (id < first_ || id - first_ >= size_) return std::nullopt;
    return id - first_;
  }
  const auto found = positions_.find(id);
  if (found == positions_.end()) return std::nullopt;
  return found->second;
}

void NodeIndex::Hash() {
  positions_.reserve(2 * size_t{size_});
  for (uint32_t i = 0; i < size_; ++i) positions_.emplace(first_ + i, i);
}

}  // namespace holdfast
