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
// dependencies, child graphs in place of their nodes. One launch runs it at a
// time. Its structure never changes; steps are replaced while nothing runs.
class Program {
 public:
  struct Entry {
    std::shared_ptr<const Step> step;  // null: a mere point of order
    std::vector<uint32_t> successors;
    uint32_t dependencies = 0;
    uint32_t slot = 0;  // of event nodes, in LaunchEvents
    bool enabled = true;
  };

  // The state that a run keeps for an entry, so that it allocates nothing.
  struct Progress {
    std::atomic<uint32_t> pending{0};
    // How long the entry took when it last ran; a guess at first.
    std::atomic<uint32_t> expected_ns{kUnknownNs};
  };
  static constexpr uint32_t kUnknownNs = 1'000'000;

  // Where the entry of a node is.
  struct Place {
    Program* body = nullptr;  // of a conditional node; null: this program
    uint32_t entry = 0;
  };
  using Index = std::unordered_map<const GraphNode*, Place>;

  // Returns null with the error in *error and the node in *culprit: a cycle, a
  // node whose step cannot be made, or one that no conditional body may have.
  static std::shared_ptr<Program> Build(const Graph& graph,
                                        const MemoryMap& memory, Index* index,
                                        CUresult* error,
                                        const GraphNode** culprit);

  explicit Program(std::vector<Entry> entries);
  // The same program, for changes while the first one runs. Shares bodies of
  // conditional nodes.
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
