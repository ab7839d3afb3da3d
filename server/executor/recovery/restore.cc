// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/restore.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "server/executor/command_handlers.h"
#include "server/executor/recovery/module_variables.h"
#include "server/journal/journal_reader.h"
#include "server/journal/live_records.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

using internal::JournalRecord;

class Restorer {
 public:
  Restorer(Resources& resources, Inheritance inheritance,
           const RestoreOptions& options)
      : resources_(resources),
        inheritance_(std::move(inheritance)),
        options_(options) {
    resources_.BeginRestore(&inheritance_);
  }
  ~Restorer() { resources_.EndRestore(); }

  void Repeat(const JournalRecord& record) {
    inheritance_.step = &record;
    absl::Status status;
    switch (record.step_case()) {
      case JournalRecord::kDevice:
        inheritance_.bases[record.device().device()] = record.device().base();
        status = resources_.Device(record.device().device()).status();
        break;
      case JournalRecord::kCommand:
        status = Carry(record.command());
        break;
      case JournalRecord::kArena:
        status = RestoreArena(record.arena());
        break;
      case JournalRecord::kError:
        status = FromError(record.error());
        break;
      case JournalRecord::STEP_NOT_SET:
        break;
    }
    if (!status.ok()) NoteFailure(record, status);
  }

  // Gives the variables of modules the values that were saved.
  absl::Status FinishVariables() {
    if (!inheritance_.variables.has_value()) return absl::OkStatus();
    return RestoreVariables(resources_, *inheritance_.variables);
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
    HOLDFAST_RETURN_IF_ERROR(options_.restore_arena(
        resources_, arena.handle(), arena.size(), std::move(memory)));
    options_.journal.ArenaRegistered(arena.handle(), arena.size());
    return absl::OkStatus();
  }

  // A handler that fails has put its handle in error; for all else that is done
  // here.
  void NoteFailure(const JournalRecord& record, const absl::Status& status) {
    for (const uint64_t handle : record.creates()) {
      if (!resources_.IsInError(handle)) {
        const absl::Status put = resources_.PutError(handle, status);
        if (!put.ok()) continue;
        options_.journal.NoteLost(handle, record.ends_with(), status);
      }
      if (record.was_in_error()) continue;
      ++losses_.count;
      if (losses_.named.size() == Losses::kMaxNamed) continue;
      v1::LostResource& lost = losses_.named.emplace_back();
      lost.set_handle(handle);
      lost.set_reason(std::string(status.message()));
    }
    if (record.creates().empty()) {
      LogWarning("while restoring: ", status.message());
    }
  }

  Resources& resources_;
  Inheritance inheritance_;
  const RestoreOptions& options_;
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
  Restorer restorer(resources, std::move(inheritance), options);
  StepTimes times;
  for (const size_t i : journal::LiveRecords(parsed.records)) {
    const absl::Time began = absl::Now();
    restorer.Repeat(*parsed.records[i]);
    times.Add(*parsed.records[i], absl::Now() - began);
  }
  HOLDFAST_RETURN_IF_ERROR(restorer.FinishVariables());
  times.Log();
  return restorer.Finish();
}

}  // namespace holdfast::executor
