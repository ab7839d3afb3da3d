// SPDX-License-Identifier: Apache-2.0
#include "server/executor/journal/session_journal.h"

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "proto/command_facts.h"
#include "server/executor/journal/journal_step.h"
#include "server/rpc/status_conversion.h"

namespace holdfast::executor {
namespace {

// Enough for the record of any command but a large one (a graph, a module).
constexpr size_t kBlockBytes = size_t{16} << 10;

// The name of the kernel that the command launches; else empty.
absl::string_view KernelOf(const v1::Command& command, Resources& resources) {
  if (!command.has_launch()) return {};
  const auto kernel = resources.kernels.Find(command.launch().kernel());
  if (!kernel.ok()) return {};
  return (*kernel)->by_device.front()->name();
}

// Returns true if a command that gives memory back will find a handle to end.
bool WillEnd(const CommandFacts& facts, Resources& resources) {
  return (resources.Contains(facts.resource) ||
          resources.IsInError(facts.resource)) &&
         (facts.stream == 0 || resources.streams.Find(facts.stream).ok());
}

}  // namespace

SessionJournal::SessionJournal(std::unique_ptr<journal::JournalWriter> writer,
                               uint64_t received)
    : writer_(std::move(writer)),
      block_(new char[kBlockBytes]),
      arena_(block_.get(), kBlockBytes) {
  writer_->SetReceived(received);
  writer_->Resume(received);
  writer_->SetCompleted(received);
}

void SessionJournal::Begin(uint64_t sequence, const v1::Command& command,
                           Resources& resources) {
  const CommandFacts facts = FactsOf(command);
  writer_->Begin(sequence, command.operation_case(), facts.stream,
                 KernelOf(command, resources));
  // The supervisor lets go of the memory while the command is carried out. If
  // this process dies after that, its successor must not look for it; so the
  // end is noted first. Memory that was not given back yet then goes when the
  // session is restored and nothing comes back to it.
  if (facts.effect == CommandEffect::kGivesBack && WillEnd(facts, resources)) {
    Note(command, absl::OkStatus(), resources);
  }
}

void SessionJournal::End(uint64_t sequence, const v1::Command& command,
                         const absl::Status& status, Resources& resources,
                         absl::string_view encoded) {
  const CommandEffect effect = FactsOf(command).effect;
  const bool noted = status.ok() && effect == CommandEffect::kGivesBack;
  if (!noted && effect != CommandEffect::kNone) [[unlikely]]
    Note(command, status, resources, encoded);
  writer_->SetProcessed(sequence);
}

void SessionJournal::Note(const v1::Command& command,
                          const absl::Status& status, Resources& resources,
                          absl::string_view encoded) {
  const uint64_t ended = status.ok() ? FactsOf(command).ended() : 0;
  if (ended != 0) update_sets_.Forget(ended);
  if (ended != 0 && writer_->Retract(ended)) return;
  // One that failed is not taken apart: it has changed no node.
  const bool one_step =
      !status.ok() || update_sets_.IsOneStep(command.update_graph_exec());
  const bool as_it_came = one_step && status.ok() && !encoded.empty();
  VisitSteps(command, resources,
             as_it_came ? StepForm::kOneWithoutCommand
             : one_step ? StepForm::kOne
                        : StepForm::kOneEach,
             arena_, [&](const internal::JournalRecord& step) {
               if (status.ok()) {
                 Append(step, as_it_came ? encoded : absl::string_view());
               } else {
                 AppendFailure(step, status, resources);
               }
             });
  arena_.Reset();
}

void SessionJournal::NoteLost(uint64_t handle, uint64_t ends_with,
                              const absl::Status& reason) {
  End(handle);
  internal::JournalRecord record;
  record.add_creates(handle);
  record.set_ends_with(ends_with);
  record.set_was_in_error(true);
  *record.mutable_error() = ToError(reason);
  Append(record);
}

// A command that failed has changed nothing, unless it put handles in error, or
// ended one before it failed.
void SessionJournal::AppendFailure(const internal::JournalRecord& step,
                                   const absl::Status& status,
                                   const Resources& resources) {
  internal::JournalRecord failure;
  for (const uint64_t handle : step.creates()) {
    if (resources.IsInError(handle)) failure.add_creates(handle);
  }
  if (!failure.creates().empty()) {
    failure.set_ends_with(step.ends_with());
    failure.set_was_in_error(true);
    *failure.mutable_error() = ToError(status);
    Append(failure);
  }
  if (step.destroys() != 0 && !resources.Contains(step.destroys())) {
    Append(step);
  }
}

void SessionJournal::DeviceOpened(uint32_t device, CUdeviceptr base) {
  internal::JournalRecord record;
  record.set_key(absl::StrCat("device ", device));
  record.mutable_device()->set_device(device);
  record.mutable_device()->set_base(base);
  Append(record);
}

void SessionJournal::ArenaRegistered(const internal::HostMemoryCreated& arena) {
  internal::JournalRecord record;
  record.add_creates(arena.handle());
  *record.mutable_arena() = arena;
  Append(record);
}

// A record of its own: the handle's resource stays ended even if the next
// record, which puts the handle in error, is retracted.
void SessionJournal::End(uint64_t handle) {
  internal::JournalRecord record;
  record.set_destroys(handle);
  if (!writer_->Append(record)) LogError("the session's journal is full");
}

// A change that cannot be written down puts an end to the resource for a
// successor: with what it was before, it would do the wrong thing silently.
void SessionJournal::Append(const internal::JournalRecord& record,
                            absl::string_view encoded) {
  if (writer_->Append(record, encoded)) return;
  internal::JournalRecord stub;
  *stub.mutable_creates() = record.creates();
  if (record.creates().empty() && record.ends_with() != 0) {
    End(record.ends_with());
    stub.add_creates(record.ends_with());
  } else {
    stub.set_ends_with(record.ends_with());
  }
  *stub.mutable_error() = ToError(absl::DataLossError(absl::StrCat(
      "its description of ", record.ByteSizeLong() + encoded.size(),
      " bytes did not fit into the session's journal")));
  if (!writer_->Append(stub)) LogError("the session's journal is full");
}

}  // namespace holdfast::executor
