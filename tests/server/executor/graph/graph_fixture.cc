// SPDX-License-Identifier: Apache-2.0
#include "tests/server/executor/graph/graph_fixture.h"

#include <cstring>

#include "tests/testing/kernels.h"

namespace holdfast::testing {

void GraphTest::SetUp() {
  ASSERT_NO_FATAL_FAILURE(ExecutorTest::SetUp());
  Batch batch = Next();
  batch.CreateStream(StreamName(0));
  batch.CreateStream(StreamName(1));
  for (const uint32_t i : {0, 1}) {
    batch.Allocate(BufferName(i), kBytes);
    batch.FillWord(StreamName(0), BufferName(i), 0, kBytes, i);
  }
  batch.LoadInline(ModuleName(0), test_ptx::kModule<test_ptx::kAdd>);
  batch.GetKernel(KernelName(0), ModuleName(0), "add");
  const auto results = Do(batch);
  ASSERT_TRUE(results.empty()) << results.begin()->second.DebugString();
}

std::map<uint64_t, v1::Result> GraphTest::Do(const Batch& batch) {
  next_sequence_ = batch.last_sequence() + 1;
  return Run(batch);
}

v1::Error GraphTest::ErrorOf(const Batch& batch) {
  v1::Error error;
  for (const auto& [sequence, result] : Do(batch)) {
    if (!result.has_error()) continue;
    EXPECT_EQ(sequence, batch.last_sequence()) << result.DebugString();
    error = result.error();
  }
  return error;
}

void GraphTest::SetAdd(v1::Launch* launch, uint64_t buffer, uint32_t value) {
  launch->set_kernel(KernelName(0));
  for (v1::Dim3* dim : {launch->mutable_grid(), launch->mutable_block()}) {
    dim->set_x(1);
    dim->set_y(1);
    dim->set_z(1);
  }
  launch->mutable_block()->set_x(kCount);
  launch->add_arguments()->mutable_buffer()->set_buffer(buffer);
  launch->add_arguments()->set_u32(value);
}

v1::GraphNode& GraphTest::AddNode(v1::GraphDefinition* definition, uint32_t id,
                                  const std::vector<uint32_t>& after) {
  v1::GraphNode& node = *definition->add_nodes();
  node.set_id(id);
  for (const uint32_t each : after) node.add_after(each);
  return node;
}

void GraphTest::Instantiate(Batch* batch, uint64_t exec, uint64_t graph) {
  auto& command = *batch->Add().mutable_instantiate_graph();
  command.set_graph_exec(exec);
  command.set_graph(graph);
}

void GraphTest::Launch(Batch* batch, uint64_t exec, uint64_t stream) {
  auto& command = *batch->Add().mutable_launch_graph();
  command.set_graph_exec(exec);
  command.set_stream(stream);
}

uint32_t GraphTest::WordOf(uint64_t buffer) {
  Batch batch = Next();
  batch.Fence();
  const uint64_t read = batch.Read(StreamName(0), buffer, 0, 4);
  const auto results = Do(batch);
  const std::string& data = results.at(read).data();
  uint32_t word = 0;
  EXPECT_EQ(data.size(), sizeof word) << results.at(read).DebugString();
  if (data.size() == sizeof word) std::memcpy(&word, data.data(), sizeof word);
  return word;
}

v1::ErrorDetail GraphTest::DetailOf(const v1::Error& error) {
  v1::ErrorDetail detail;
  for (const auto& any : error.details()) any.UnpackTo(&detail);
  return detail;
}

}  // namespace holdfast::testing
