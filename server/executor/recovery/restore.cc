// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/restore.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/handle.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "google/protobuf/arena.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/graph/built_graph.h"
#include "server/executor/graph/graph_instance.h"
#include "server/executor/journal/journal_step.h"
#include "server/executor/recovery/module_variables.h"
#include "server/journal/journal_reader.h"
#include "server/journal/live_records.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

using internal::JournalRecord;
using Steps = absl::Span<const JournalRecord* const>;

// Makes the resources of a session again by carrying out the commands of its
// journal in order, in an executor that has the memory of the one before
// (`inheritance`). Each step either succeeds, or leaves its handle in error,
// or, where that would be silently wrong, puts an end to what it would have
// changed; later steps that need such a handle fail in their turn, which is how
// losses spread to what depends on them. Steps are written to the new
// executor's journal as they succeed, so that it can be recovered as well.
class Restorer {
 public:
  // `steps` must outlive the restorer.
  Restorer(Resources& resources, Inheritance inheritance, Steps steps,
           const RestoreOptions& options)
      : resources_(resources),
        inheritance_(std::move(inheritance)),
        steps_(steps),
        options_(options) {
    resources_.devices.BeginRestore(&inheritance_);
  }
  ~Restorer() { resources_.EndRestore(); }

  // REQUIRES: the steps before this one were repeated.
  void Repeat(size_t step) {
    const JournalRecord& record = *steps_[step];
    inheritance_.step = &record;
    const absl::Status status = Carry(record);
    if (status.ok()) return;
    if (ChangesSeveralNodes(record)) return RepeatByNode(step);
    NoteFailure(record, status);
  }

  // Gives the variables of modules the values that were saved. A module that
  // does not get them is lost, and with it all that was made of it: it would
  // compute with first values.
  void FinishVariables() {
    if (!inheritance_.variables.has_value()) return;
    Causes lost;
    RestoreVariables(resources_, *inheritance_.variables,
                     [&](uint64_t module, const absl::Status& why) {
                       Lose(module, /*ends_with=*/0, why);
                       lost.emplace(module, why);
                     });
    if (!lost.empty()) LoseWhatNeeds(std::move(lost));
  }

  // Gives up the memory that nothing came back to.
  Losses Finish() {
    for (const auto& [name, chunk] : inheritance_.chunks) {
      options_.chunk_released(name);
    }
    for (const auto& [handle, memory] : inheritance_.host) {
      options_.host_memory_released(handle);
    }
    return std::move(losses_);
  }

 private:
  using Causes = absl::flat_hash_map<uint64_t, absl::Status>;  // by handle

  absl::Status Carry(const JournalRecord& record) {
    switch (record.step_case()) {
      case JournalRecord::kDevice:
        inheritance_.bases[record.device().device()] = record.device().base();
        return resources_.devices.Open(record.device().device()).status();
      case JournalRecord::kCommand:
        return Carry(record.command());
      case JournalRecord::kArena:
        return RestoreArena(record.arena());
      case JournalRecord::kError:
        return FromError(record.error());
      case JournalRecord::STEP_NOT_SET:
        break;
    }
    return absl::OkStatus();
  }

  absl::Status Carry(const v1::Command& command) {
    const CommandContext context{resources_, options_.fetch_object, results_,
                                 failures_};
    const absl::Status status = Dispatch(context, command);
    // Sequence numbers are of no interest here.
    options_.journal.Note(command, status, resources_);
    return status;
  }

  absl::Status RestoreArena(const internal::HostMemoryCreated& arena) {
    const auto found = inheritance_.host.find(arena.handle());
    if (found == inheritance_.host.end()) {
      return absl::DataLossError("its memory was not kept");
    }
    UniqueFd memory = std::move(found->second);
    inheritance_.host.erase(found);
    HOLDFAST_RETURN_IF_ERROR(
        options_.restore_arena(resources_, arena, std::move(memory)));
    options_.journal.ArenaRegistered(arena);
    return absl::OkStatus();
  }

  bool ChangesSeveralNodes(const JournalRecord& record) const {
    const v1::UpdateGraphExec& update = record.command().update_graph_exec();
    return update.nodes().nodes_size() > 1 &&
           resources_.Contains(update.graph_exec());
  }

  // Visits the steps that the update would have been, one for each node.
  void ForEachNode(const JournalRecord& update,
                   absl::FunctionRef<void(const JournalRecord& part)> visit) {
    google::protobuf::Arena arena;
    VisitSteps(update.command(), resources_, StepForm::kOneEach, arena, visit);
  }

  // An update of several nodes fails as a whole if one of them refers to what
  // is lost. The instance is lost only if it still has that node's parameters:
  // those that a later step replaces may be of no consequence.
  void RepeatByNode(size_t step) {
    if (last_updates_.empty()) FindLastUpdates();
    ForEachNode(*steps_[step], [&](const JournalRecord& part) {
      if (last_updates_.at(part.key()) > step) return;
      if (!resources_.Contains(part.ends_with())) return;
      const absl::Status status = Carry(part.command());
      if (!status.ok()) NoteFailure(part, status);
    });
  }

  void FindLastUpdates() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i]->command().has_update_graph_exec()) continue;
      ForEachNode(*steps_[i], [&](const JournalRecord& part) {
        last_updates_[part.key()] = i;
      });
    }
  }

  void NoteFailure(const JournalRecord& record, const absl::Status& status) {
    for (const uint64_t handle : record.creates()) {
      if (!PutInError(handle, record, status)) continue;
      if (!record.was_in_error()) CountLoss(handle, status);
    }
    if (!record.creates().empty()) return;
    LogWarning("while restoring: ", status.message());
    LoseChanged(record.ends_with(), status);
  }

  // A handler that fails has put its handle in error; for all else that is done
  // here. A resource that was lost late may be there again, since a graph needs
  // it. Returns false if the handle stays as it is.
  bool PutInError(uint64_t handle, const JournalRecord& record,
                  const absl::Status& status) {
    if (resources_.IsInError(handle)) return true;
    if (record.has_error() && resources_.Contains(handle)) {
      resources_.DropIntoError(handle, status);
    } else if (!resources_.PutError(handle, status).ok()) {
      return false;
    }
    options_.journal.NoteLost(handle, record.ends_with(), status);
    return true;
  }

  void CountLoss(uint64_t handle, const absl::Status& status) {
    ++losses_.count;
    if (losses_.named.size() == Losses::kMaxNamed) return;
    v1::LostResource& lost = losses_.named.emplace_back();
    lost.set_handle(handle);
    lost.set_reason(std::string(status.message()));
  }

  // Takes a resource out of its table, if it is there, and leaves its handle in
  // error, for its own successor as well.
  template <typename T>
  std::optional<T> Fail(HandleTable<T>& table, uint64_t handle,
                        uint64_t ends_with, const absl::Status& status) {
    std::optional<T> lost = table.Fail(handle, status);
    if (!lost.has_value()) return std::nullopt;
    options_.journal.NoteLost(handle, ends_with, status);
    CountLoss(handle, status);
    return lost;
  }

  void Lose(uint64_t handle, uint64_t ends_with, const absl::Status& status) {
    Fail(resources_.modules, handle, ends_with, status);
    Fail(resources_.kernels, handle, ends_with, status);
    Fail(resources_.buffers, handle, ends_with, status);
    auto graph = Fail(resources_.graphs, handle, ends_with, status);
    if (graph.has_value()) {
      BuiltGraph::Release(resources_, std::move(graph->graph));
    }
    auto exec = Fail(resources_.graph_execs, handle, ends_with, status);
    if (exec.has_value()) {
      GraphInstance::Release(resources_, std::move(exec->instance));
    }
  }

  // A change that cannot be repeated puts an end to the resource: as it was
  // before, it would do the wrong thing silently.
  void LoseChanged(uint64_t handle, const absl::Status& status) {
    if (resources_.kernels.Contains(handle)) {
      Lose(handle, ModuleOf(handle), status);
    } else if (resources_.graph_execs.Contains(handle)) {
      Lose(handle, /*ends_with=*/0, status);
    }
  }

  // 0: there is none.
  uint64_t ModuleOf(uint64_t kernel) {
    uint64_t owner = 0;
    resources_.modules.ForEachHandle([&](uint64_t handle,
                                         const ModuleResource& module) {
      const auto& kernels = module.kernels;
      if (std::find(kernels.begin(), kernels.end(), kernel) != kernels.end()) {
        owner = handle;
      }
    });
    return owner;
  }

  // Loses what was made of the handles in `lost`, or uses them, and so on. A
  // handle may be gone while a graph still uses what it named.
  void LoseWhatNeeds(Causes lost) {
    for (const JournalRecord* const step : steps_) {
      const absl::Status status = CauseOf(lost, *step);
      if (status.ok()) continue;
      if (step->creates().empty()) LoseChanged(step->ends_with(), status);
      for (const uint64_t handle : step->creates()) {
        if (IsOwnAllocation(handle, *step)) continue;
        Lose(handle, step->ends_with(), status);
        lost.emplace(handle, status);
      }
    }
  }

  // OK: the step needs nothing that is lost.
  static absl::Status CauseOf(const Causes& lost, const JournalRecord& step) {
    const auto own = lost.find(step.ends_with());
    if (own != lost.end()) return own->second;
    for (const uint64_t handle : step.needs()) {
      const auto found = lost.find(handle);
      if (found != lost.end()) return found->second;
    }
    return absl::OkStatus();
  }

  // A buffer that begins with a graph: its bytes are there without the graph.
  static bool IsOwnAllocation(uint64_t handle, const JournalRecord& step) {
    return step.command().has_create_graph() &&
           holdfast::Handle::Unpack(handle).kind == HandleKind::kBuffer;
  }

  Resources& resources_;
  Inheritance inheritance_;
  const Steps steps_;
  const RestoreOptions& options_;
  // The last step by the key of an update's part; empty: not looked for yet.
  absl::flat_hash_map<std::string, size_t> last_updates_;
  const std::shared_ptr<ResultQueue> results_ = std::make_shared<ResultQueue>();
  v1::FenceResult failures_;
  Losses losses_;
};

std::string NameOf(const JournalRecord& record) {
  if (!record.has_command()) {
    const auto* const step =
        record.GetDescriptor()->FindFieldByNumber(record.step_case());
    return step == nullptr ? "" : step->name();
  }
  const v1::Command& command = record.command();
  const auto* const operation =
      command.GetDescriptor()->FindFieldByNumber(command.operation_case());
  return operation == nullptr ? "" : operation->name();
}

// Where the time of a recovery goes, for the log.
class StepTimes {
 public:
  void Add(const JournalRecord& record, absl::Duration took) {
    ++count_;
    total_ += took;
    if (took <= longest_) return;
    longest_ = took;
    longest_name_ = NameOf(record);
  }
  void Log() const {
    LogInfo("restored ", count_, " steps in ", absl::FormatDuration(total_),
            count_ == 0
                ? ""
                : absl::StrCat("; the longest, ", longest_name_, ", took ",
                               absl::FormatDuration(longest_)));
  }

 private:
  size_t count_ = 0;
  absl::Duration total_;
  absl::Duration longest_;
  std::string longest_name_;
};

}  // namespace

absl::StatusOr<Losses> Restore(Resources& resources, Inheritance inheritance,
                               absl::string_view records,
                               const RestoreOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(const journal::ParsedRecords parsed,
                            journal::ParseRecords(records));
  std::vector<const JournalRecord*> steps;
  for (const size_t i : journal::LiveRecords(parsed.records)) {
    steps.push_back(parsed.records[i]);
  }
  Restorer restorer(resources, std::move(inheritance), steps, options);
  StepTimes times;
  for (size_t i = 0; i < steps.size(); ++i) {
    const absl::Time began = SteadyNow();
    restorer.Repeat(i);
    times.Add(*steps[i], SteadyNow() - began);
  }
  restorer.FinishVariables();
  times.Log();
  return restorer.Finish();
}

}  // namespace holdfast::executor
