// SPDX-License-Identifier: Apache-2.0
#include "server/executor/journal/update_sets.h"

#include <algorithm>

#include "absl/hash/hash.h"

namespace holdfast::executor {
namespace {

// Parameters of nodes of the graph itself: what a key with a list can name.
bool HasPlainNodes(const v1::GraphNodeUpdates& updates) {
  return std::all_of(updates.nodes().begin(), updates.nodes().end(),
                     [](const v1::GraphNodeUpdate& update) {
                       return update.has_node() && update.within().empty();
                     });
}

size_t HashIds(const v1::GraphNodeUpdates& updates) {
  std::vector<uint32_t> ids;
  ids.reserve(static_cast<size_t>(updates.nodes_size()));
  for (const v1::GraphNodeUpdate& update : updates.nodes()) {
    ids.push_back(update.id());
  }
  return absl::HashOf(ids);
}

}  // namespace

bool UpdateSets::IsOneStep(const v1::UpdateGraphExec& update) {
  const v1::GraphNodeUpdates& updates = update.nodes();
  if (updates.nodes_size() <= 1) return true;
  if (!HasPlainNodes(updates)) return false;
  const size_t hash = HashIds(updates);
  Sets& sets = sets_[update.graph_exec()];
  if (std::find(sets.hashes.begin(), sets.hashes.end(), hash) !=
      sets.hashes.end()) {
    return true;
  }
  const size_t nodes = sets.nodes + static_cast<size_t>(updates.nodes_size());
  if (sets.hashes.size() == kMaxSets || nodes > kMaxNodes) return false;
  sets.hashes.push_back(hash);
  sets.nodes = nodes;
  return true;
}

}  // namespace holdfast::executor
