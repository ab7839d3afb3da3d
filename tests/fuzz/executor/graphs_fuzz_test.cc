// SPDX-License-Identifier: Apache-2.0
//
// Definitions of graphs: random ones, those of tests/fuzz/executor/definitions,
// the same changed field by field, and some at the limits of the protocol,
// through the executor's real command processor to the software device: made,
// instantiated, launched, updated, taken down in any order. Nothing is made
// smaller first: a loop or a grid that would take forever is ended by the
// driver's limit of time, with the process, as in an executor.
#include <google/protobuf/text_format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/handle.h"
#include "core/base/status_macros.h"
#include "proto/protocol_limits.h"
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
// Characters of a command that a finding shows.
constexpr size_t kMaxText = 10'000;
constexpr char kDefinitions[] = "tests/fuzz/executor/definitions";
constexpr char kEndless[] = "tests/fuzz/executor/endless_definitions";

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

// Definitions in the text format, which name what SetUp makes.
std::vector<v1::GraphDefinition> ReadDefinitions(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<v1::GraphDefinition> definitions;
  for (const auto& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    if (!google::protobuf::TextFormat::ParseFromString(
            text.str(), &definitions.emplace_back())) {
      std::fprintf(stderr, "%s has no definition\n", path.c_str());
      std::abort();
    }
  }
  if (definitions.empty()) std::abort();
  return definitions;
}

// A number next to a limit, on either side.
uint64_t Around(uint64_t limit, Random& random) {
  return limit - 1 + random.Below(3);
}

void AddEmptyNodes(uint64_t count, v1::GraphDefinition* definition) {
  for (uint32_t id = 0; id < count; ++id) {
    v1::GraphNode& node = *definition->add_nodes();
    node.set_id(id);
    node.mutable_empty();
  }
}

// Each node behind all before it, up to the limit of dependencies.
void AddDenseNodes(Random& random, v1::GraphDefinition* definition) {
  uint64_t left = Around(kMaxGraphEdges, random);
  for (uint32_t id = 0; left > 0; ++id) {
    v1::GraphNode& node = *definition->add_nodes();
    node.set_id(id);
    node.mutable_empty();
    for (uint32_t earlier = 0; earlier < id && left > 0; ++earlier, --left) {
      node.add_after(earlier);
    }
  }
}

// Children in children, each with a node more.
void AddLevels(uint64_t levels, v1::GraphDefinition* definition) {
  for (; levels > 0; --levels) {
    AddEmptyNodes(1, definition);
    v1::GraphNode& node = *definition->add_nodes();
    node.set_id(1);
    definition = node.mutable_child();
  }
}

void AddSwitch(uint64_t branches, v1::GraphDefinition* definition) {
  definition->add_conditions()->set_id(1);
  v1::GraphNode& node = *definition->add_nodes();
  node.set_id(1);
  node.mutable_conditional()->set_condition(1);
  node.mutable_conditional()->set_kind(v1::ConditionalNode::KIND_SWITCH);
  for (; branches > 0; --branches) {
    AddEmptyNodes(1, node.mutable_conditional()->add_branches());
  }
}

// Edges to nodes that stand later, to the node itself, and to none.
void AddWrongEdges(Random& random, v1::GraphDefinition* definition) {
  AddEmptyNodes(1 + random.Below(20), definition);
  for (v1::GraphNode& node : *definition->mutable_nodes()) {
    if (random.OneIn(2)) continue;
    node.add_after(random.OneIn(2) ? node.id()
                                   : static_cast<uint32_t>(random.Boundary()));
  }
}

// A definition at a limit, or with edges that no graph has.
v1::GraphDefinition MakeExtreme(Random& random) {
  v1::GraphDefinition definition;
  switch (random.Below(5)) {
    case 0:
      AddEmptyNodes(Around(kMaxGraphNodes, random), &definition);
      break;
    case 1:
      AddDenseNodes(random, &definition);
      break;
    case 2:
      AddLevels(Around(kMaxGraphDepth, random), &definition);
      break;
    case 3:
      AddSwitch(Around(kMaxGraphBranches, random), &definition);
      break;
    default:
      AddWrongEdges(random, &definition);
  }
  return definition;
}

bool Waits(const v1::ValueBatch& batch) {
  return std::any_of(batch.operations().begin(), batch.operations().end(),
                     [](const v1::ValueOperation& operation) {
                       return operation.kind() !=
                              v1::ValueOperation::KIND_WRITE;
                     });
}

// Whether a node waits for a semaphore or a value. Nothing would end the wait:
// such graphs are made and changed, but not launched.
bool Waits(const v1::GraphDefinition& definition) {
  return std::any_of(
      definition.nodes().begin(), definition.nodes().end(),
      [](const v1::GraphNode& node) {
        const auto& branches = node.conditional().branches();
        return node.has_wait_semaphore() || Waits(node.value_batch()) ||
               Waits(node.child()) ||
               std::any_of(branches.begin(), branches.end(),
                           [](const v1::GraphDefinition& branch) {
                             return Waits(branch);
                           });
      });
}

// In memory that all processes of a run share.
struct Counts {
  std::atomic<uint64_t> graphs{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> launched{0};
  std::atomic<uint64_t> rounds{0};  // of the neighbour
  std::atomic<uint64_t> ended{0};   // processes, by the limit of time
};

Counts* MakeCounts() {
  void* const memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, /*fd=*/-1, 0);
  if (memory == MAP_FAILED) std::abort();
  return new (memory) Counts;
}

class GraphsTarget : public FuzzTarget {
 public:
  explicit GraphsTarget(Counts* counts)
      : definitions_(ReadDefinitions(kDefinitions)),
        endless_(ReadDefinitions(kEndless)) {
    // Shows what a process takes once: after it, nothing more may be held.
    Counts uncounted;
    counts_ = &uncounted;
    Random random(1);
    static_cast<void>(Play(std::vector<v1::GraphDefinition>(kGraphs), random));
    counts_ = counts;
  }

  absl::Status Execute(Random& random) override {
    const Holdings before;
    bool plain = true;
    const std::vector<v1::GraphDefinition> graphs = MakeGraphs(random, &plain);
    absl::Status status = Play(graphs, random);
    if (spent_) {
      HOLDFAST_FUZZ_EXPECT(!plain, "small graphs went over the limit of time");
      ++counts_->ended;
      return status;
    }
    status.Update(before.CheckNothingMore());
    status.Update(neighbour_.Check());
    counts_->rounds += neighbour_.rounds() - rounds_;
    rounds_ = neighbour_.rounds();
    return status;
  }

  bool Spent() const override { return spent_; }

  absl::Status Finish() override {
    HOLDFAST_FUZZ_EXPECT(counts_->graphs == 0 || counts_->launched > 0,
                         "every graph was refused");
    return absl::OkStatus();
  }

  std::string Summary() const override {
    return absl::StrCat(
        counts_->graphs.load(), " graphs, ", counts_->refused.load(),
        " refused; ", counts_->launched.load(), " launches; ",
        counts_->ended.load(), " ended by the limit of time; ",
        counts_->rounds.load(), " rounds of a neighbour verified");
  }

 private:
  // Three that begin alike, some of them changed. `plain`: all of them are
  // small and end by themselves.
  std::vector<v1::GraphDefinition> MakeGraphs(Random& random,
                                              bool* plain) const {
    v1::GraphDefinition first;
    if (random.OneIn(16)) {
      first = random.OneIn(6) ? random.Pick(endless_) : MakeExtreme(random);
      *plain = false;
    } else if (random.OneIn(3)) {
      first = random.Pick(definitions_);
      *plain = false;
    } else {
      first = MakeDefinition(random, static_cast<uint32_t>(random.Below(4)));
      if (random.OneIn(2)) AddMemory(random, &first);
    }
    std::vector<v1::GraphDefinition> graphs(kGraphs, first);
    for (v1::GraphDefinition& graph : graphs) {
      if (random.OneIn(2)) continue;
      MessageMutator::Mutate(&graph, 1 + random.Below(4), random);
      *plain = false;
    }
    return graphs;
  }

  absl::Status Play(const std::vector<v1::GraphDefinition>& graphs,
                    Random& random) {
    HostedSession session;
    v1::CommandBatch batch;
    batch.set_first_sequence(1);
    SetUp(&batch);
    const bool launch = std::none_of(
        graphs.begin(), graphs.end(),
        [](const v1::GraphDefinition& graph) { return Waits(graph); });
    for (uint32_t i = 0; i < kGraphs; ++i) {
      AddGraph(i, graphs[i], random, &batch);
      if (launch) AddLaunch(i, &batch);
    }
    for (int i = 0; i < 6; ++i) {
      AddChange(graphs[0], random, &batch);
      if (launch) AddLaunch(random.Below(kGraphs), &batch);
    }
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
    auto& set_condition = *batch->add_commands()->mutable_get_kernel();
    set_condition.set_kernel(Name(HandleKind::kKernel, 1));
    set_condition.set_module(kModule);
    set_condition.set_name("set_condition");
    batch->add_commands()->mutable_create_semaphore()->set_semaphore(
        Name(HandleKind::kSemaphore, 0));
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

  static void AddGraph(uint32_t index, const v1::GraphDefinition& definition,
                       Random& random, v1::CommandBatch* batch) {
    auto& create = *batch->add_commands()->mutable_create_graph();
    create.set_graph(Name(HandleKind::kGraph, index));
    *create.mutable_definition() = definition;
    auto& instantiate = *batch->add_commands()->mutable_instantiate_graph();
    instantiate.set_graph_exec(Name(HandleKind::kGraphExec, index));
    instantiate.set_graph(create.graph());
    instantiate.set_use_node_priority(random.OneIn(2));
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
    counts_->graphs += kGraphs;
    for (const v1::Command& command : batch.commands()) {
      counts_->launched += command.has_launch_graph() ? 1 : 0;
    }
    for (const v1::Result& result : results.results()) {
      if (!result.has_error()) continue;
      const v1::Command& command = batch.commands(
          static_cast<int>(result.sequence() - batch.first_sequence()));
      counts_->refused += command.has_create_graph() ? 1 : 0;
      counts_->launched -= command.has_launch_graph() ? 1 : 0;
      const absl::Status status =
          CheckError(result.error().code(), result.error().message());
      if (!status.ok()) {
        return absl::DataLossError(
            absl::StrCat(status.message(), "\n  ",
                         command.ShortDebugString().substr(0, kMaxText)));
      }
    }
    HOLDFAST_FUZZ_EXPECT(!results.results().empty(), "no result of the fence");
    return CheckFence(*results.results().rbegin());
  }

  // The limit of time ends the device, and so does a condition that a kernel is
  // told to set and that there is not; any other error of it is a finding.
  absl::Status CheckFence(const v1::Result& result) {
    if (result.has_fence()) return absl::OkStatus();
    const std::string& error = result.error().message();
    spent_ = absl::StrContains(error, "CUDA_ERROR_LAUNCH_TIMEOUT") ||
             (absl::StrContains(error, "CUDA_ERROR_ILLEGAL_ADDRESS") &&
              absl::StrContains(error, "kernel set_condition"));
    HOLDFAST_FUZZ_EXPECT(spent_,
                         "the device is in error: ", result.error().message());
    return absl::OkStatus();
  }

  Counts* counts_;
  const std::vector<v1::GraphDefinition> definitions_;
  const std::vector<v1::GraphDefinition> endless_;
  Neighbour neighbour_;
  uint64_t rounds_ = 0;  // of the neighbour, that are counted
  bool spent_ = false;
};

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  using holdfast::fuzz::GraphsTarget;
  auto* const counts = holdfast::fuzz::MakeCounts();
  return holdfast::fuzz::FuzzMain(
      argc, argv, [counts] { return std::make_unique<GraphsTarget>(counts); });
}
