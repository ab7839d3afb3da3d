// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_holdings.h"

#include <algorithm>
#include <utility>

#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/journal/layout.h"

namespace holdfast {
namespace {

absl::StatusOr<UniqueFd> NewJournal() {
  return CreateFixedMemfd("holdfast-journal", journal::kJournalBytes);
}

}  // namespace

SessionHoldings::SessionHoldings(const Services& services)
    : store_(services.store),
      ledger_(services.ledger),
      grants_(services.ledger),
      memory_(
          {services.exports, services.collections, services.memory, grants_}) {}

absl::Status SessionHoldings::Open(const internal::Assign& assign,
                                   std::shared_ptr<Tenant> tenant) {
  memory_.Open(assign.session_id(), tenant);
  grants_.Open(assign.limits(), static_cast<size_t>(assign.devices_size()),
               std::move(tenant));
  HOLDFAST_ASSIGN_OR_RETURN(journal_, NewJournal());
  return absl::OkStatus();
}

absl::StatusOr<internal::SaveMemory> SessionHoldings::PrepareSuspension(
    const std::string& path) {
  HOLDFAST_RETURN_IF_ERROR(CheckSuspendable());
  uint64_t bytes = 0;
  saved_ = memory_.PlanSave(&bytes);
  HOLDFAST_ASSIGN_OR_RETURN(
      suspended_memory_, SuspendedMemory::Create(path, bytes, *ledger_.host()));
  return saved_;
}

void SessionHoldings::Suspend() {
  memory_.Suspend(saved_);
  grants_.Suspend();
  suspended_ = true;
}

absl::Status SessionHoldings::BeginRestore() {
  if (!suspended_) CancelSuspension();
  // A successor that failed has left only the beginning of a journal.
  if (!old_journal_.valid()) old_journal_ = std::move(journal_);
  HOLDFAST_ASSIGN_OR_RETURN(journal_, NewJournal());
  released_chunks_.clear();
  released_host_memory_.clear();
  released_imports_.clear();
  grants_.BeginInheritance();
  memory_.BeginRestore();
  return absl::OkStatus();
}

void SessionHoldings::EndRestore() {
  old_journal_.Reset();
  for (const uint64_t chunk : std::exchange(released_chunks_, {})) {
    memory_.Release(chunk);
  }
  for (const uint64_t handle : std::exchange(released_host_memory_, {})) {
    host_memory_.erase(handle);
  }
  for (const uint64_t import : std::exchange(released_imports_, {})) {
    memory_.ReleaseImport(import);
  }
  memory_.EndRestore();
  grants_.EndInheritance();
  suspended_ = false;
  CancelSuspension();
}

absl::Status SessionHoldings::SendTo(Channel& channel) const {
  internal::ToExecutor message;
  message.mutable_journal();
  HOLDFAST_RETURN_IF_ERROR(channel.Send(message, journal_.get()));
  if (!old_journal_.valid()) return absl::OkStatus();
  message.mutable_restore_journal();
  HOLDFAST_RETURN_IF_ERROR(channel.Send(message, old_journal_.get()));
  for (const auto& [handle, kept] : host_memory_) {
    message.mutable_restore_host_memory()->set_handle(handle);
    message.mutable_restore_host_memory()->set_size(kept.size);
    HOLDFAST_RETURN_IF_ERROR(channel.Send(message, kept.memory.get()));
  }
  return memory_.ForEachChunk(
      [&](const internal::ChunkCreated& chunk, int descriptor) {
        *message.mutable_restore_chunk() = chunk;
        return channel.Send(
            message, chunk.saved() ? suspended_descriptor() : descriptor);
      });
}

void SessionHoldings::ReleaseChunk(uint64_t chunk) {
  if (old_journal_.valid()) return released_chunks_.push_back(chunk);
  memory_.Release(chunk);
}

void SessionHoldings::ReleaseImport(uint64_t import) {
  if (old_journal_.valid()) return released_imports_.push_back(import);
  memory_.ReleaseImport(import);
}

absl::Status SessionHoldings::HoldHostMemory(
    const internal::HostMemoryCreated& created, UniqueFd memory) {
  if (!memory.valid()) {
    return absl::InvalidArgumentError("memory came without a descriptor");
  }
  if (host_memory_.size() >= kMaxHostMemory) return absl::OkStatus();
  host_memory_[created.handle()] = {created.size(), std::move(memory)};
  return absl::OkStatus();
}

void SessionHoldings::ReleaseHostMemory(uint64_t handle) {
  if (old_journal_.valid()) return released_host_memory_.push_back(handle);
  host_memory_.erase(handle);
}

absl::StatusOr<std::shared_ptr<const StoredObject>> SessionHoldings::FindObject(
    const std::string& sha256) {
  const auto kept =
      std::find_if(objects_.begin(), objects_.end(),
                   [&](const auto& object) { return object.first == sha256; });
  if (kept != objects_.end()) return kept->second;
  HOLDFAST_ASSIGN_OR_RETURN(auto object, store_.Get(sha256));
  object_bytes_ += object->header.size();
  objects_.emplace_back(sha256, object);
  while (objects_.size() > kMaxObjects || object_bytes_ > kMaxObjectBytes) {
    object_bytes_ -= objects_.front().second->header.size();
    objects_.pop_front();
  }
  return object;
}

void SessionHoldings::Close() {
  memory_.Close();
  grants_.Close();
  host_memory_.clear();
  objects_.clear();
  suspended_ = false;
  CancelSuspension();
}

}  // namespace holdfast
