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
    std::vector<uint32_t> successors;  // indices of entries
    uint32_t dependencies = 0;         // the number of predecessors
    uint32_t slot = 0;  // the index of an event node's slot in LaunchEvents
    bool enabled = true;
  };

  // The state of an entry in a run. The program stores it so that a run
  // allocates no memory.
  struct Progress {
    std::atomic<uint32_t> pending{0};  // predecessors that are not done
    // The time that the last run of the entry took, in nanoseconds; kUnknownNs
    // before the first run.
    std::atomic<uint32_t> expected_ns{kUnknownNs};
  };
  static constexpr uint32_t kUnknownNs = 1'000'000;

  // The place of a node's entry.
  struct Place {
    // The program of a conditional node's body that has the entry; null: the
    // program for which the index was made.
    Program* body = nullptr;
    uint32_t entry = 0;
  };
  using Index = std::unordered_map<const GraphNode*, Place>;

  // Returns the program, and fills *index with the graph's nodes. `memory` must
  // outlive the program. On an error returns null, and sets *error and
  // *culprit, which is null if no single node is to blame.
  // CUDA_ERROR_INVALID_VALUE: there is a cycle. CUDA_ERROR_NOT_SUPPORTED: a
  // conditional body may not have the node. CUDA_ERROR_OUT_OF_MEMORY: more than
  // Graph::kMostNodes. Also fails as MakeStep.
  static std::shared_ptr<Program> Build(const Graph& graph,
                                        const MemoryMap& memory, Index* index,
                                        CUresult* error,
                                        const GraphNode** culprit);

  explicit Program(std::vector<Entry> entries);
  // Returns a copy, which can be changed while this program runs. The copy
  // shares the bodies of conditional nodes with this program.
  std::shared_ptr<Program> Copy() const {
    return std::make_shared<Program>(entries_);
  }

  const std::vector<Entry>& entries() const { return entries_; }
  Entry& entry(uint32_t index) { return entries_[index]; }
  Progress& progress(uint32_t index) { return progress_[index]; }
  // True if each entry depends on the entry before it.
  bool chain() const { return chain_; }
  // The number of slots that LaunchEvents must have.
  uint32_t slots() const { return slots_; }

  // The number of launches that have not ended. No step is replaced while it is
  // above 0.
  std::atomic<int> launches{0};

 private:
  std::vector<Entry> entries_;
  std::vector<Progress> progress_;
  bool chain_ = true;
  uint32_t slots_ = 0;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_PROGRAM_H_
