// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/submitted_commands.h"

#include <cstddef>
#include <utility>

#include "client/cpp/connection/rpc_status.h"
#include "client/cpp/submission/quiet_thread.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Ends that are remembered without a result that tells that they are over;
// then one is asked for.
constexpr size_t kMaxEnds = 4096;

// Writes the command as a field of v1::CommandBatch.
auto Framed(SubmittedCommands::Encode encode) {
  return [encode](WireWriter& writer) {
    writer.Message(v1::fields::CommandBatch::kCommands,
                   [&] { encode(writer); });
  };
}

}  // namespace

template <typename Write>
absl::StatusOr<SubmittedCommands::Added> SubmittedCommands::Append(
    const Write& write) {
  Added added;
  added.begins = filling_.empty();
  HOLDFAST_ASSIGN_OR_RETURN(added.sequence,
                            filling_.Append(write, &added.full));
  return added;
}

template <typename Write>
SubmittedCommands::Added SubmittedCommands::AppendEnd(const Write& write) {
  if (!state_.lost().ok()) return {};
  End end;
  absl::StatusOr<Added> added = Append([&](WireWriter& writer) {
    const size_t before = writer.size();
    write(writer);
    end.bytes.assign(writer.data() + before, writer.size() - before);
  });
  if (!added.ok()) return {};
  end.sequence = added->sequence;
  ends_.push_back(std::move(end));
  if (ends_.size() % kMaxEnds == 0 && AppendFence()) added->full = true;
  return *added;
}

bool SubmittedCommands::AppendFence() {
  v1::CommandBatch batch;
  batch.add_commands()->mutable_fence();
  const auto added = Append([&](WireWriter& writer) { writer.Fields(batch); });
  return added.ok() && added->full;
}

absl::StatusOr<SubmittedCommands::Added> SubmittedCommands::Add(Encode encode) {
  HOLDFAST_RETURN_IF_ERROR(state_.CheckSubmission());
  return Append(Framed(encode));
}

absl::StatusOr<SubmittedCommands::Added> SubmittedCommands::AddCreation(
    Encode encode) {
  HOLDFAST_ASSIGN_OR_RETURN(const Added added, Add(encode));
  failures_.Watch(added.sequence);
  return added;
}

absl::StatusOr<SubmittedCommands::Added> SubmittedCommands::AddAlone(
    Encode encode) {
  HOLDFAST_ASSIGN_OR_RETURN(const Added added, Add(encode));
  failures_.WatchAlone(added.sequence);
  return added;
}

absl::StatusOr<SubmittedCommands::Added> SubmittedCommands::AddAwaited(
    Encode encode, std::shared_ptr<ResultSlot> slot) {
  HOLDFAST_ASSIGN_OR_RETURN(const Added added, Add(encode));
  slot->sequence = added.sequence;
  awaited_.emplace(added.sequence, std::move(slot));
  return added;
}

SubmittedCommands::Added SubmittedCommands::AddEnd(Encode encode) {
  return AppendEnd(Framed(encode));
}

SubmittedCommands::Outgoing SubmittedCommands::TakeOutgoing() {
  Outgoing outgoing;
  outgoing.last_sequence = filling_.last_sequence();
  outgoing.suspended = state_.suspended();
  outgoing.unsent = !unsent_.empty();
  if (filling_.empty()) return outgoing;
  outgoing.batch = filling_.Take();
  if (!outgoing.suspended) written_through_ = outgoing.last_sequence;
  return outgoing;
}

void SubmittedCommands::KeepUnsent(absl::string_view batch) {
  if (state_.lost().ok()) unsent_.emplace_back(batch);
}

std::vector<std::string> SubmittedCommands::TakeUnsent() {
  return std::exchange(unsent_, {});
}

void SubmittedCommands::GiveBackUnsent(std::vector<std::string> batches) {
  if (state_.lost().ok()) unsent_ = std::move(batches);
}

uint64_t SubmittedCommands::Unflushed() const {
  if (!unsent_.empty() && !state_.suspended()) return UINT64_MAX;
  return filling_.empty() ? 0 : filling_.first_sequence();
}

bool SubmittedCommands::NeedsSession() const {
  return state_.wanted() || !filling_.empty() || !unsent_.empty() ||
         !awaited_.empty();
}

void SubmittedCommands::NoteEarlierFailure(const v1::FenceResult& fence) {
  if (fence.failures() == 0) [[likely]]
    return;
  const uint64_t first = fence.first_failed_sequence();
  if (first > received_through_) return;
  failures_.Add(first, ToStatus(fence.first_error()));
}

std::shared_ptr<ResultSlot> SubmittedCommands::NoteResult(
    const v1::Result& result, const absl::Status& error) {
  if (result.has_fence()) NoteEarlierFailure(result.fence());
  // Commands before one with a result were carried out.
  while (!ends_.empty() && ends_.front().sequence < result.sequence()) {
    ends_.pop_front();
  }
  std::shared_ptr<ResultSlot> slot;
  if (const auto found = awaited_.find(result.sequence());
      found != awaited_.end()) {
    slot = std::move(found->second);
    awaited_.erase(found);
  }
  if (!error.ok() && (slot == nullptr || slot->told_by_take_failure)) {
    failures_.Add(result.sequence(), error);
  }
  return slot;
}

absl::Status SubmittedCommands::TakeFailure() {
  if (state_.fault_untold()) return state_.TellFault();
  absl::Status failure;
  if (!IsQuietThread()) failure = failures_.Take();
  return failure.ok() ? state_.lost() : failure;
}

absl::Status SubmittedCommands::FailureOf(uint64_t sequence) {
  const absl::Status failure = failures_.Of(sequence);
  if (failure.ok()) return state_.lost();
  failures_.NoteTold(failure);
  return failure;
}

absl::Status SubmittedCommands::TakeAlone(uint64_t sequence) {
  const absl::Status failure = failures_.Of(sequence);
  failures_.Unwatch(sequence);
  failures_.NoteTold(failure);
  return failure;
}

void SubmittedCommands::NoteTold(const absl::Status& status) {
  state_.NoteTold(status);
  failures_.NoteTold(status);
}

ResultSlots SubmittedCommands::TakeSlots() {
  ResultSlots slots;
  slots.reserve(awaited_.size());
  for (auto& [sequence, slot] : awaited_) slots.push_back(std::move(slot));
  awaited_.clear();
  return slots;
}

ResultSlots SubmittedCommands::Lose(const absl::Status& reason) {
  if (!state_.Lose(reason)) return {};
  unsent_.clear();
  return TakeSlots();
}

ResultSlots SubmittedCommands::Ask(const absl::Status& fault) {
  state_.Ask(fault);
  return TakeSlots();
}

ResultSlots SubmittedCommands::ResumeSuspended(
    uint64_t carried_out_through, std::vector<std::string> unsent) {
  for (std::string& batch : unsent_) unsent.push_back(std::move(batch));
  unsent_ = std::move(unsent);
  // The connection broke before the results of these came.
  ResultSlots lost;
  absl::erase_if(awaited_, [&](auto& entry) {
    if (entry.first > carried_out_through) return false;
    lost.push_back(std::move(entry.second));
    return true;
  });
  state_.ResumeSuspended();
  return lost;
}

ResultSlots SubmittedCommands::Resume(const absl::Status& fault, uint64_t begun,
                                      Send send) {
  state_.Resume(fault);
  unsent_.clear();
  failures_.DropAfter(begun, fault);
  filling_.Clear();
  RepeatEnds(begun, send);
  // Transfers wait for the last number that was given out, which no command
  // that was dropped will reach.
  AppendFence();
  return TakeSlots();
}

void SubmittedCommands::RepeatEnds(uint64_t begun, Send send) {
  for (const End& end : std::exchange(ends_, {})) {
    // The one that was begun last may not have been carried out; to end twice
    // is no error.
    if (end.sequence < begun) continue;
    const Added added =
        AppendEnd([&](WireWriter& writer) { writer.Append(end.bytes); });
    if (added.full) send(filling_.Take());
  }
}

}  // namespace holdfast
