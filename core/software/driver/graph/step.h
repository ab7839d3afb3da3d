// SPDX-License-Identifier: Apache-2.0
//
// A node made ready to run: decoded, checked, its code compiled.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_STEP_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_STEP_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "core/software/driver/event.h"
#include "core/software/driver/graph/node.h"
#include "core/software/driver/memory_map.h"
#include "cuda.h"

namespace holdfast::software {

// The events of one launch of a graph: where its waits and records stand in
// the order of calls, which is fixed when the graph is launched.
struct LaunchEvents {
  // One of the two for each event node, by its slot.
  struct Slot {
    Event::Point point;
    Event::Recording recording;
    bool records = false;
    bool reached = false;
  };
  std::vector<Slot> slots;
};

// Immutable and thread-safe; programs share steps.
class Step {
 public:
  // Which threads may run it.
  enum class Place {
    kAnyThread,
    // The thread that runs the graph: the step may take for ever, or needs
    // threads of the worker pool itself, which must not be in its way.
    kOwnThread,
  };

  explicit Step(Place place) : place_(place) {}
  virtual ~Step() = default;

  Place place() const { return place_; }

  // False: Run() would have to wait for others; to be asked again.
  virtual bool Ready(const LaunchEvents& events, size_t slot) const {
    return true;
  }
  // Faults are reported as the process's. `slot` counts for event nodes only.
  virtual void Run(LaunchEvents& events, size_t slot) const = 0;

  // The event of an event node; null for others.
  virtual Event* event() const { return nullptr; }
  virtual bool records() const { return false; }

 private:
  const Place place_;
};

// Makes the step of a node, null for a node that does nothing by itself (empty,
// child graph, memory) and for a conditional node (conditional_step.h).
// `memory` must outlive it. Fails as the launch of the node alone would.
CUresult MakeStep(const NodeParameters& parameters, const MemoryMap& memory,
                  std::shared_ptr<const Step>* step);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_STEP_H_
