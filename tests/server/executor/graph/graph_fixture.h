// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_SERVER_EXECUTOR_GRAPH_GRAPH_FIXTURE_H_
#define HOLDFAST_TESTS_SERVER_EXECUTOR_GRAPH_GRAPH_FIXTURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/server/executor/executor_fixture.h"

namespace holdfast::testing {

inline uint64_t GraphName(uint32_t index, uint32_t generation = 1) {
  return Name(HandleKind::kGraph, index, generation);
}
inline uint64_t ExecName(uint32_t index, uint32_t generation = 1) {
  return Name(HandleKind::kGraphExec, index, generation);
}

// An executor with streams 0 and 1, buffers 0 and 1 of kCount words on the
// device, each word its buffer's number, and kernel 0, `add`: it adds its
// second argument, u32, to each word of its first.
class GraphTest : public ExecutorTest {
 protected:
  static constexpr uint32_t kCount = 64;
  static constexpr uint64_t kBytes = 4 * kCount;

  void SetUp() override;

  // Returns an empty batch whose sequence numbers follow the last batch's.
  Batch Next() const { return Batch(next_sequence_); }
  // Runs a batch of Next(). Returns its results.
  std::map<uint64_t, v1::Result> Do(const Batch& batch);
  // Runs the batch. Returns the error of its last command; code 0 if it
  // succeeds. Expects the other commands to succeed.
  v1::Error ErrorOf(const Batch& batch);

  // Fills in a launch of `add` on all of `buffer`.
  static void SetAdd(v1::Launch* launch, uint64_t buffer, uint32_t value);
  static v1::GraphNode& AddNode(v1::GraphDefinition* definition, uint32_t id,
                                const std::vector<uint32_t>& after = {});

  static void Instantiate(Batch* batch, uint64_t exec, uint64_t graph);
  static void Launch(Batch* batch, uint64_t exec,
                     uint64_t stream = StreamName(0));

  // Returns the first word of a buffer.
  uint32_t WordOf(uint64_t buffer);

  // Returns the detail of an error.
  static v1::ErrorDetail DetailOf(const v1::Error& error);

 private:
  uint64_t next_sequence_ = 1;
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SERVER_EXECUTOR_GRAPH_GRAPH_FIXTURE_H_
