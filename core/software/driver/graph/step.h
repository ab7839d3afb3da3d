// SPDX-License-Identifier: Apache-2.0
//
// A step is a graph node that is ready to run: decoded, checked, and its code
// compiled.
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

// The events of one launch of a graph. The call that launches fixes the points
// for which the graph waits, and the recordings that the graph makes.
struct LaunchEvents {
  // The state of one event node. A wait node uses `point`, a record node uses
  // `recording`.
  struct Slot {
    Event::Point point;
    Event::Recording recording;
    bool records = false;  // true: a record node
    bool reached = false;  // the recording is reached
  };
  std::vector<Slot> slots;
};

// The work of one node in a program. Programs share steps. Immutable and
// thread-safe.
class Step {
 public:
  // The threads that may run a step.
  enum class Place {
    kAnyThread,
    // Only the thread that runs the graph, because the step may block without
    // limit, or itself needs the threads of the worker pool.
    kOwnThread,
  };

  explicit Step(Place place) : place_(place) {}
  virtual ~Step() = default;

  Place place() const { return place_; }

  // Returns false if Run() would block now. The caller then calls Ready() again
  // later. Does not block.
  virtual bool Ready(const LaunchEvents& events, size_t slot) const {
    return true;
  }
  // Runs the step, and blocks until it is done. Reports a fault for the whole
  // process (fault.h). `slot` is the entry's slot in `events`; only event nodes
  // use it.
  virtual void Run(LaunchEvents& events, size_t slot) const = 0;

  // The event of an event node; null for other nodes.
  virtual Event* event() const { return nullptr; }
  // True if the step records its event; false if it waits for the event.
  virtual bool records() const { return false; }

 private:
  const Place place_;
};

// Makes the step of a node. *step is null for a node that does nothing by
// itself (empty, child graph, memory, a copy of 0 bytes), and for a conditional
// node (conditional_step.h). `memory` must outlive the step. Fails as the
// launch of the node alone would.
CUresult MakeStep(const NodeWork& work, const MemoryMap& memory,
                  std::shared_ptr<const Step>* step);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_STEP_H_
