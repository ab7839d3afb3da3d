// SPDX-License-Identifier: Apache-2.0
//
// Command batches: what clients send, changed field by field, through the
// executor's real command processor to the software device.
#include <cstdint>
#include <set>
#include <utility>

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

constexpr uint64_t kArena = Handle{HandleKind::kArena, 1, 0}.Pack();
constexpr uint64_t kArenaSize = uint64_t{128} << 10;
constexpr uint64_t kMaxHostBytes = uint64_t{1} << 20;

// Makes commands small that would succeed but take long or much: this process
// cannot be killed for it as an executor can. Refused commands stay as they
// are.
void TameGrid(v1::Dim3* grid) {
  constexpr uint32_t kMaxYZ = 65535;
  if (grid->x() == 0 || grid->x() > INT32_MAX || grid->y() == 0 ||
      grid->y() > kMaxYZ || grid->z() == 0 || grid->z() > kMaxYZ) {
    return;
  }
  if (uint64_t{grid->x()} * grid->y() * grid->z() <= 256) return;
  grid->set_x(1 + grid->x() % 16);
  grid->set_y(1 + grid->y() % 4);
  grid->set_z(1 + grid->z() % 4);
}

// The rest of the values is below zero, for which a wait would not end.
void TameSignal(v1::SignalSemaphore* signal) {
  signal->set_value(signal->value() & INT64_MAX);
}

// A wait for a value that nobody writes does not end.
void TameValues(v1::ValueBatch* batch) {
  for (v1::ValueOperation& operation : *batch->mutable_operations()) {
    if (operation.kind() > v1::ValueOperation::KIND_WRITE) {
      operation.set_kind(v1::ValueOperation::KIND_WRITE);
    }
  }
}

// A loop whose condition nobody clears would not end.
void TameGraph(v1::GraphDefinition* definition);

void TameNode(v1::GraphNode* node) {
  if (node->has_launch() && node->launch().has_grid()) {
    TameGrid(node->mutable_launch()->mutable_grid());
  }
  if (node->has_child()) TameGraph(node->mutable_child());
  if (node->has_wait_semaphore()) node->mutable_wait_semaphore()->set_value(0);
  if (node->has_signal_semaphore())
    TameSignal(node->mutable_signal_semaphore());
  if (node->has_value_batch()) TameValues(node->mutable_value_batch());
  if (!node->has_conditional()) return;
  if (node->conditional().kind() == v1::ConditionalNode::KIND_WHILE) {
    node->mutable_conditional()->set_kind(v1::ConditionalNode::KIND_IF);
  }
  for (auto& branch : *node->mutable_conditional()->mutable_branches()) {
    TameGraph(&branch);
  }
}

void TameGraph(v1::GraphDefinition* definition) {
  for (v1::GraphNode& node : *definition->mutable_nodes()) TameNode(&node);
}

void Tame(v1::Command* command) {
  // A wait for a value that nobody sets does not end.
  if (command->has_wait_semaphore()) {
    command->mutable_wait_semaphore()->set_value(0);
  }
  if (command->has_create_semaphore()) {
    auto& create = *command->mutable_create_semaphore();
    create.set_initial_value(create.initial_value() & INT64_MAX);
  }
  if (command->has_signal_semaphore()) {
    TameSignal(command->mutable_signal_semaphore());
  }
  if (command->has_value_batch()) {
    TameValues(command->mutable_value_batch());
  }
  if (command->has_launch() && command->launch().has_grid()) {
    TameGrid(command->mutable_launch()->mutable_grid());
  }
  if (command->has_create_graph()) {
    TameGraph(command->mutable_create_graph()->mutable_definition());
  }
  if (command->has_update_graph_exec() &&
      command->update_graph_exec().has_nodes()) {
    auto& updates = *command->mutable_update_graph_exec()->mutable_nodes();
    for (v1::GraphNodeUpdate& update : *updates.mutable_nodes()) {
      if (update.has_node()) TameNode(update.mutable_node());
    }
  }
  if (command->has_allocate_buffer() && command->allocate_buffer().has_host()) {
    auto& allocate = *command->mutable_allocate_buffer();
    if (allocate.size() < uint64_t{1} << 50) {
      allocate.set_size(allocate.size() % kMaxHostBytes);
    }
  }
  if (command->has_load_module() &&
      command->load_module().image_case() == v1::LoadModule::kInline) {
    // Text that is cut or damaged and yet a module could have a kernel that
    // does not end; tests/core/software/fuzz has damaged text.
    auto& module = *command->mutable_load_module();
    if (module.inline_().find("nothing() { ret; }") == std::string::npos) {
      module.mutable_inline_()->insert(0, "damaged ");
    }
  }
}

class CommandsTarget : public FuzzTarget {
 public:
  // The first execution shows what a process takes once: after it, nothing
  // more may be held.
  CommandsTarget() : traces_(ReadTraces()) {
    static_cast<void>(Play(traces_[0]));
  }

  absl::Status Execute(Random& random) override {
    Trace trace = random.Pick(traces_);
    Change(&trace, random);
    const Holdings before;
    absl::Status status = Play(trace);
    status.Update(before.CheckNothingMore());
    status.Update(neighbour_.Check());
    return status;
  }

  absl::Status Finish() override {
    HOLDFAST_FUZZ_EXPECT(commands_ == 0 || succeeded_ > 0,
                         "every command was refused");
    return absl::OkStatus();
  }

  std::string Summary() const override {
    return absl::StrCat(commands_, " commands, ", failed_, " refused; ",
                        neighbour_.rounds(), " rounds of a neighbour verified");
  }

 private:
  // Batches of another client come in between, then fields change.
  void Change(Trace* trace, Random& random) const {
    if (random.OneIn(4)) {
      const Trace& other = random.Pick(traces_);
      trace->insert(trace->begin() + random.Below(trace->size() + 1),
                    random.Pick(other));
    }
    for (v1::CommandBatch& batch : *trace) {
      if (random.OneIn(2)) {
        MessageMutator::Mutate(&batch, 1 + random.Below(6), random);
      }
      for (v1::Command& command : *batch.mutable_commands()) Tame(&command);
    }
  }

  absl::Status Play(const Trace& trace) {
    HostedSession session;
    HOLDFAST_RETURN_IF_ERROR(session.AddArena(kArena, kArenaSize));
    uint64_t last = 0;
    absl::Status status;
    for (v1::CommandBatch batch : trace) {
      // Numbers must increase; now and then they do not.
      if (batch.first_sequence() <= last && batch.first_sequence() % 7 != 0) {
        batch.set_first_sequence(last + 1);
      }
      status.Update(PlayBatch(batch, session, &last));
    }
    status.Update(CheckServes(session, last));
    status.Update(session.End());
    return status;
  }

  absl::Status PlayBatch(const v1::CommandBatch& batch, HostedSession& session,
                         uint64_t* last) {
    const auto results = session.Run(batch);
    if (!results.ok()) {
      return CheckError(static_cast<int>(results.status().code()),
                        std::string(results.status().message()));
    }
    const auto size = static_cast<uint64_t>(batch.commands_size());
    *last = batch.first_sequence() + size - (size > 0 ? 1 : 0);
    commands_ += size;
    std::set<uint64_t> numbers;
    for (const v1::Result& result : results->results()) {
      const uint64_t index = result.sequence() - batch.first_sequence();
      HOLDFAST_FUZZ_EXPECT(index < size, result.ShortDebugString());
      HOLDFAST_FUZZ_EXPECT(numbers.insert(result.sequence()).second,
                           "two results: ", result.ShortDebugString());
      HOLDFAST_FUZZ_EXPECT(
          result.outcome_case() != v1::Result::OUTCOME_NOT_SET,
          batch.commands(static_cast<int>(index)).ShortDebugString());
      if (!result.has_error()) continue;
      ++failed_;
      const absl::Status status =
          CheckError(result.error().code(), result.error().message());
      if (!status.ok()) {
        return absl::DataLossError(absl::StrCat(
            status.message(), "\n  ",
            batch.commands(static_cast<int>(index)).ShortDebugString()));
      }
    }
    succeeded_ += size - numbers.size();
    return absl::OkStatus();
  }

  // Whatever came before, the session answers, and the device is not in error.
  absl::Status CheckServes(HostedSession& session, uint64_t last) {
    if (last >= UINT64_MAX - 2 * kMaxBatchCommands) {
      return absl::OkStatus();
    }
    v1::CommandBatch batch;
    batch.set_first_sequence(last + 1);
    batch.add_commands()->mutable_fence()->set_all_streams(true);
    HOLDFAST_ASSIGN_OR_RETURN(const v1::ResultBatch results,
                              session.Run(batch));
    HOLDFAST_FUZZ_EXPECT(
        results.results_size() == 1 && results.results(0).has_fence(),
        results.ShortDebugString());
    return absl::OkStatus();
  }

  const std::vector<Trace> traces_;
  Neighbour neighbour_;
  uint64_t commands_ = 0;
  uint64_t failed_ = 0;
  uint64_t succeeded_ = 0;  // without a result
};

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  return holdfast::fuzz::FuzzMain(argc, argv, [] {
    return std::make_unique<holdfast::fuzz::CommandsTarget>();
  });
}
