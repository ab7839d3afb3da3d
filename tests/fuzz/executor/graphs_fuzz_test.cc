// SPDX-License-Identifier: Apache-2.0
//
// Definitions of graphs: random ones, of which about half are good, and the
// same changed field by field, through the executor's real command processor
// to the software device: made, instantiated, launched, updated, taken down in
// any order.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/handle.h"
#include "core/base/status_macros.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/fuzz/engine/message_mutator.h"
#include "tests/fuzz/executor/hosted_session.h"
#include "tests/fuzz/executor/neighbour.h"
#include "tests/fuzz/executor/traces.h"

namespace holdfast::fuzz {
namespace {

constexpr uint32_t kBuffers = 3;
constexpr uint64_t kBufferBytes = 4096;
constexpr uint32_t kGraphs = 3;

constexpr uint64_t Name(HandleKind kind, uint64_t index) {
  return Handle{kind, 1, static_cast<uint32_t>(index)}.Pack();
}
constexpr uint64_t kStream = Name(HandleKind::kStream, 0);
constexpr uint64_t kModule = Name(HandleKind::kModule, 0);
constexpr uint64_t kKernel = Name(HandleKind::kKernel, 0);

uint64_t AnyBuffer(Random& random) {
  return Name(HandleKind::kBuffer, random.Below(kBuffers));
}

void SetLaunch(v1::Launch* launch, Random& random) {
  launch->set_kernel(kKernel);  // square(u64 data, u64 n)
  for (v1::Dim3* dim : {launch->mutable_grid(), launch->mutable_block()}) {
    dim->set_x(static_cast<uint32_t>(1 + random.Below(8)));
    dim->set_y(1);
    dim->set_z(1);
  }
  launch->add_arguments()->mutable_buffer()->set_buffer(AnyBuffer(random));
  launch->add_arguments()->set_u64(random.Next());
}

void SetFill(v1::FillBuffer* fill, Random& random) {
  fill->set_buffer(AnyBuffer(random));
  fill->set_offset(4 * random.Below(kBufferBytes / 4));
  fill->set_size(4 * random.Below((kBufferBytes - fill->offset()) / 4 + 1));
  fill->set_word(static_cast<uint32_t>(random.Next()));
}

// Within a buffer the halves, so that the ranges are apart.
void SetCopy(v1::CopyBuffer* copy, Random& random) {
  copy->set_source(AnyBuffer(random));
  copy->set_destination(AnyBuffer(random));
  copy->set_destination_offset(kBufferBytes / 2);
  copy->set_size(random.Below(kBufferBytes / 2 + 1));
}

// The name of a buffer that a graph may make or have made.
uint64_t AnyGraphBuffer(Random& random) {
  return Name(HandleKind::kBuffer, kBuffers + random.Below(2));
}

// A definition that is good unless it goes over a limit of depth.
v1::GraphDefinition MakeDefinition(Random& random, uint32_t levels) {
  v1::GraphDefinition definition;
  const uint64_t count = random.Below(12);
  for (uint32_t id = 0; id < count; ++id) {
    v1::GraphNode& node = *definition.add_nodes();
    node.set_id(id);
    for (uint32_t earlier = 0; earlier < id; ++earlier) {
      if (random.OneIn(3)) node.add_after(earlier);
    }
    switch (random.Below(levels == 0 ? 6 : 7)) {
      case 0:
      case 1:
        SetLaunch(node.mutable_launch(), random);
        break;
      case 2:
        SetFill(node.mutable_fill(), random);
        break;
      case 3:
        SetCopy(node.mutable_copy(), random);
        break;
      case 4:
        node.mutable_record()->set_event(
            Name(HandleKind::kEvent, random.Below(2)));
        break;
      case 5:
        node.mutable_empty();
        break;
      default:
        *node.mutable_child() = MakeDefinition(random, levels - 1);
    }
  }
  return definition;
}

// Some memory of the graph's own, which its other nodes do not use.
void AddMemory(Random& random, v1::GraphDefinition* definition) {
  v1::GraphNode& allocate = *definition->add_nodes();
  allocate.set_id(1000);
  allocate.mutable_allocation()->set_buffer(AnyGraphBuffer(random));
  allocate.mutable_allocation()->set_size(random.Below(kBufferBytes));
  v1::GraphNode& free = *definition->add_nodes();
  free.set_id(1001);
  free.add_after(1000);
  free.mutable_free()->set_buffer(AnyGraphBuffer(random));
}

// Makes nodes small that would take long: this process cannot be killed for it.
void Tame(v1::GraphDefinition* definition) {
  for (v1::GraphNode& node : *definition->mutable_nodes()) {
    if (node.has_child()) Tame(node.mutable_child());
    if (node.has_conditional() || node.has_wait_semaphore()) {
      node.mutable_empty();
    }
    if (!node.has_launch() || !node.launch().has_grid()) continue;
    v1::Dim3& grid = *node.mutable_launch()->mutable_grid();
    grid.set_x(grid.x() % 16);
    grid.set_y(grid.y() % 4);
    grid.set_z(grid.z() % 4);
  }
}

class Target : public FuzzTarget {
 public:
  Target() {
    Random random(1);
    static_cast<void>(Play(random));
  }

  absl::Status Execute(Random& random) override {
    const Holdings before;
    absl::Status status = Play(random);
    status.Update(before.CheckNothingMore());
    status.Update(neighbour_.Check());
    return status;
  }

  absl::Status Finish() override {
    HOLDFAST_FUZZ_EXPECT(graphs_ == 0 || launched_ > 0,
                         "every graph was refused");
    return absl::OkStatus();
  }

  std::string Summary() const override {
    return absl::StrCat(graphs_, " graphs, ", refused_, " refused; ", launched_,
                        " launches; ", neighbour_.rounds(),
                        " rounds of a neighbour verified");
  }

 private:
  absl::Status Play(Random& random) {
    HostedSession session;
    v1::CommandBatch batch;
    batch.set_first_sequence(1);
    SetUp(&batch);
    v1::GraphDefinition first = MakeDefinition(random, random.Below(4));
    if (random.OneIn(2)) AddMemory(random, &first);
    for (uint32_t i = 0; i < kGraphs; ++i) {
      v1::GraphDefinition definition = first;
      if (random.OneIn(2)) {
        MessageMutator::Mutate(&definition, 1 + random.Below(4), random);
        Tame(&definition);
      }
      AddGraph(i, std::move(definition), random, &batch);
    }
    for (int i = 0; i < 6; ++i) AddChange(first, random, &batch);
    batch.add_commands()->mutable_fence()->set_all_streams(true);
    absl::Status status = Run(batch, session);
    status.Update(session.End());
    return status;
  }

  static void SetUp(v1::CommandBatch* batch) {
    auto& load = *batch->add_commands()->mutable_load_module();
    load.set_module(kModule);
    load.set_object_sha256(kKernelsSha256);
    auto& get = *batch->add_commands()->mutable_get_kernel();
    get.set_kernel(kKernel);
    get.set_module(kModule);
    get.set_name("square");
    batch->add_commands()->mutable_create_stream()->set_stream(kStream);
    for (uint32_t i = 0; i < kBuffers; ++i) {
      auto& buffer = *batch->add_commands()->mutable_allocate_buffer();
      buffer.set_buffer(Name(HandleKind::kBuffer, i));
      buffer.set_size(kBufferBytes);
      buffer.set_device(0);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      batch->add_commands()->mutable_create_event()->set_event(
          Name(HandleKind::kEvent, i));
    }
  }

  static void AddGraph(uint32_t index, v1::GraphDefinition definition,
                       Random& random, v1::CommandBatch* batch) {
    auto& create = *batch->add_commands()->mutable_create_graph();
    create.set_graph(Name(HandleKind::kGraph, index));
    *create.mutable_definition() = std::move(definition);
    auto& instantiate = *batch->add_commands()->mutable_instantiate_graph();
    instantiate.set_graph_exec(Name(HandleKind::kGraphExec, index));
    instantiate.set_graph(create.graph());
    instantiate.set_use_node_priority(random.OneIn(2));
    AddLaunch(index, batch);
  }

  static void AddLaunch(uint64_t index, v1::CommandBatch* batch) {
    auto& launch = *batch->add_commands()->mutable_launch_graph();
    launch.set_graph_exec(Name(HandleKind::kGraphExec, index));
    launch.set_stream(kStream);
  }

  // Something that changes an instance or takes something away.
  static void AddChange(const v1::GraphDefinition& definition, Random& random,
                        v1::CommandBatch* batch) {
    const uint64_t graph = random.Below(kGraphs);
    v1::Command& command = *batch->add_commands();
    switch (random.Below(7)) {
      case 0:
        command.mutable_free_buffer()->set_buffer(AnyBuffer(random));
        break;
      case 1:
        command.mutable_unload_module()->set_module(kModule);
        break;
      case 2:
        command.mutable_destroy_graph()->set_graph(
            Name(HandleKind::kGraph, graph));
        break;
      case 3:
        command.mutable_destroy_graph_exec()->set_graph_exec(
            Name(HandleKind::kGraphExec, graph));
        break;
      case 4: {
        auto& update = *command.mutable_update_graph_exec();
        update.set_graph_exec(Name(HandleKind::kGraphExec, graph));
        update.set_graph(Name(HandleKind::kGraph, random.Below(kGraphs)));
        break;
      }
      case 5: {
        auto& draw = *command.mutable_draw_graph();
        draw.set_graph(Name(HandleKind::kGraph, graph));
        draw.set_offset(random.Boundary());
        break;
      }
      default:
        AddNodeUpdates(definition, graph, random, &command);
    }
    AddLaunch(random.Below(kGraphs), batch);
  }

  static void AddNodeUpdates(const v1::GraphDefinition& definition,
                             uint64_t graph, Random& random,
                             v1::Command* command) {
    auto& update = *command->mutable_update_graph_exec();
    update.set_graph_exec(Name(HandleKind::kGraphExec, graph));
    for (const v1::GraphNode& node : definition.nodes()) {
      if (random.OneIn(2)) continue;
      v1::GraphNodeUpdate& changed = *update.mutable_nodes()->add_nodes();
      changed.set_id(node.id());
      if (random.OneIn(2)) {
        changed.set_enabled(random.OneIn(2));
        continue;
      }
      *changed.mutable_node() = node;
      changed.mutable_node()->clear_after();
      if (node.has_fill()) {
        SetFill(changed.mutable_node()->mutable_fill(), random);
      }
    }
  }

  absl::Status Run(const v1::CommandBatch& batch, HostedSession& session) {
    HOLDFAST_ASSIGN_OR_RETURN(const v1::ResultBatch results,
                              session.Run(batch));
    uint64_t failed_launches = 0;
    bool fence = false;
    for (const v1::Result& result : results.results()) {
      const auto index =
          static_cast<int>(result.sequence() - batch.first_sequence());
      const v1::Command& command = batch.commands(index);
      if (result.has_fence()) fence = true;
      if (!result.has_error()) continue;
      refused_ += command.has_create_graph() ? 1 : 0;
      failed_launches += command.has_launch_graph() ? 1 : 0;
      const absl::Status status =
          CheckError(result.error().code(), result.error().message());
      if (!status.ok()) {
        return absl::DataLossError(
            absl::StrCat(status.message(), "\n  ", command.ShortDebugString()));
      }
    }
    HOLDFAST_FUZZ_EXPECT(fence, "the fence failed: the device is in error");
    graphs_ += kGraphs;
    for (const v1::Command& command : batch.commands()) {
      launched_ += command.has_launch_graph() ? 1 : 0;
    }
    launched_ -= failed_launches;
    return absl::OkStatus();
  }

  Neighbour neighbour_;
  uint64_t graphs_ = 0;
  uint64_t refused_ = 0;
  uint64_t launched_ = 0;
};

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  return holdfast::fuzz::FuzzMain(
      argc, argv, [] { return std::make_unique<holdfast::fuzz::Target>(); });
}
