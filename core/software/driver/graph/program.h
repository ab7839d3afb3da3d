// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PROGRAM_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PROGRAM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/software/driver/graph/graph.h"
#include "core/software/driver/graph/step.h"

namespace holdfast::software {

// A graph in the form in which it runs: steps in an order that respects all
// dependencies, with child graphs in place of their nodes. One launch at a time
// runs a program. The structure is immutable; steps are replaced only while no
// launch runs.
class Program {
 public:
  struct Entry {
    std::shared_ptr<const Step> step;  // null: only orders other entries
    std::vector<uint32_t> successors;
    uint32_t dependencies = 0;
    uint32_t slot = 0;  // of event nodes, in LaunchEvents
    bool enabled = true;
  };

  // The state of an entry in a run, kept here so that a run allocates nothing.
  struct Progress {
    std::atomic<uint32_t> pending{0};
    // The time that the last run of the entry took; kUnknownNs at first.
    std::atomic<uint32_t> expected_ns{kUnknownNs};
  };
  static constexpr uint32_t kUnknownNs = 1'000'000;

  // The place of a node's entry.
  struct Place {
    Program* body = nullptr;  // a conditional node's; null: this program
    uint32_t entry = 0;
  };
  using Index = std::unordered_map<const GraphNode*, Place>;

  // Returns the program, and adds its nodes to *index. On an error returns
  // null, with the error in *error and the node, if any, in *culprit: a cycle,
  // a node whose step cannot be made, or a node that a conditional body may not
  // have.
  static std::shared_ptr<Program> Build(const Graph& graph,
                                        const MemoryMap& memory, Index* index,
                                        CUresult* error,
                                        const GraphNode** culprit);

  explicit Program(std::vector<Entry> entries);
  // Returns a copy, which can be changed while this program runs. It shares the
  // bodies of conditional nodes.
  std::shared_ptr<Program> Copy() const {
    return std::make_shared<Program>(entries_);
  }

  const std::vector<Entry>& entries() const { return entries_; }
  Entry& entry(uint32_t index) { return entries_[index]; }
  Progress& progress(uint32_t index) { return progress_[index]; }
  // True if each entry has to wait for the one before it.
  bool chain() const { return chain_; }
  uint32_t slots() const { return slots_; }

  // Launches that have not ended. While there are any, no step is replaced.
  std::atomic<int> launches{0};

 private:
  std::vector<Entry> entries_;
  std::vector<Progress> progress_;
  bool chain_ = true;
  uint32_t slots_ = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PROGRAM_H_
