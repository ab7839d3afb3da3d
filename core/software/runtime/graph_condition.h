// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_GRAPH_CONDITION_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_GRAPH_CONDITION_H_

#include <atomic>
#include <cstdint>

namespace holdfast::software {

// A condition: a value that a conditional node of a graph reads. Kernels set
// the value of a handle with cudaGraphSetConditional. Thread-safe.
class GraphCondition {
 public:
  // Makes a condition with the value `initial`. If `assign` is true, each
  // launch of the graph sets the value to `initial` again. REQUIRES: no
  // condition of this process has had this handle.
  GraphCondition(uint64_t handle, uint32_t initial, bool assign);
  ~GraphCondition();
  GraphCondition(const GraphCondition&) = delete;
  GraphCondition& operator=(const GraphCondition&) = delete;

  uint64_t handle() const { return handle_; }
  uint32_t value() const { return value_; }
  // Sets the initial value if `assign` is true. Called at the beginning of each
  // launch of the graph.
  void Reset() {
    if (assign_) value_ = initial_;
  }

  // Sets the value of the condition with this handle. Returns false if there is
  // no such condition.
  static bool Set(uint64_t handle, uint32_t value);

  // True if a conditional node uses the condition. Guarded by the lock of graph
  // definitions.
  bool taken = false;

 private:
  const uint64_t handle_;
  const uint32_t initial_;
  const bool assign_;
  std::atomic<uint32_t> value_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_GRAPH_CONDITION_H_
