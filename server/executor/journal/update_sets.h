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
// The journal can record an update of many nodes as one step, which costs a
// fraction of one step for each node. Such a step is needed until each of its
// nodes has been changed again. Most programs update the same nodes repeatedly,
// so that each step replaces the whole previous step. But steps of overlapping
// sets would pile up. So the first few sets of a graph have one step for each
// update, and an update of any other set has one step for each node. Not
// thread-safe.
class UpdateSets {
 public:
  // The most sets of one instantiated graph, and the most nodes in all of them.
  static constexpr size_t kMaxSets = 4;
  static constexpr size_t kMaxNodes = size_t{1} << 16;

  // Returns true if the journal must record the update as one step, and
  // remembers the update's set of nodes.
  bool IsOneStep(const v1::UpdateGraphExec& update);
  // Forgets the sets of an instantiated graph that has ended.
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
