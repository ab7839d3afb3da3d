// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_JOURNAL_UPDATE_SETS_H_
#define HOLDFAST_SERVER_EXECUTOR_JOURNAL_UPDATE_SETS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "holdfast/v1/graph_commands.pb.h"

namespace holdfast::executor {

// The sets of nodes that updates of instantiated graphs have changed together.
//
// The journal can have an update of many nodes as one step, which costs a
// fraction of a step for each. Such a step is needed until each of its nodes
// has been changed again. Most programs update the same nodes repeatedly, so
// that a step replaces the whole previous one. But steps of overlapping sets
// would pile up. So a graph has a few sets, and an update of any other set has
// one step for each node.
class UpdateSets {
 public:
  // Sets and nodes of one instantiated graph.
  static constexpr size_t kMaxSets = 4;
  static constexpr size_t kMaxNodes = size_t{1} << 16;

  // Returns true if the journal must have one step for the update.
  bool IsOneStep(const v1::UpdateGraphExec& update);
  // The instantiated graph has ended.
  void Forget(uint64_t graph_exec) { sets_.erase(graph_exec); }

 private:
  struct Sets {
    std::vector<size_t> hashes;
    size_t nodes = 0;
  };

  absl::flat_hash_map<uint64_t, Sets> sets_;  // by instantiated graph
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_JOURNAL_UPDATE_SETS_H_
