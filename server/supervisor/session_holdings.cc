// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_holdings.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/journal/layout.h"
#include "server/journal/saved_variables.h"
#include "server/supervisor/session_place.h"

namespace holdfast::supervisor {
namespace {

absl::StatusOr<UniqueFd> NewJournal() {
  return CreateFixedMemfd("holdfast-journal", journal::kJournalBytes);
}

// The first 64 bits of a hash.
uint64_t ContentNumber(absl::string_view sha256) {
  uint64_t number = 0;
  for (const char byte : sha256.substr(0, sizeof number)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

}  // namespace

SessionHoldings::SessionHoldings(const Services& services)
    : store_(services.store),
      ledger_(services.ledger),
      kept_(services.kept),
      grants_(services.ledger),
      memory_({services.exports, services.collections, services.memory, grants_,
               services.kept}) {}

KeptName SessionHoldings::Name(const char* kind,
                               std::initializer_list<uint64_t> numbers) const {
  KeptName name{kind, {session_}};
  name.numbers.insert(name.numbers.end(), numbers);
  return name;
}

absl::Status SessionHoldings::Open(const internal::Assign& assign,
                                   std::shared_ptr<Tenant> tenant) {
  session_ = SessionNumber(assign.session_id());
  HOLDFAST_ASSIGN_OR_RETURN(slot_, tenant->TakeSlot());
  memory_.Open(assign.session_id(), tenant);
  grants_.Open(assign.limits(), static_cast<size_t>(assign.devices_size()),
               std::move(tenant));
  HOLDFAST_ASSIGN_OR_RETURN(journal_, NewJournal());
  kept_journal_ = kept_.Keep(Name("journal", {epoch_}), journal_.get());
  return absl::OkStatus();
}

absl::Status SessionHoldings::Adopt(KeptSession& kept,
                                    std::shared_ptr<Tenant> tenant) {
  const internal::Assign& assign = kept.record->assign();
  session_ = SessionNumber(assign.session_id());
  epoch_ = kept.epoch;
  HOLDFAST_ASSIGN_OR_RETURN(slot_, tenant->TakeSlot());
  memory_.Open(assign.session_id(), tenant);
  grants_.Open(assign.limits(), static_cast<size_t>(assign.devices_size()),
               std::move(tenant));
  journal_ = std::move(kept.journal);
  kept_journal_ = kept_.Keep(Name("journal", {epoch_}), journal_.get());
  if (kept.idle) NoteIdle();
  // Those of a daemon that was killed before all was idle hold no more.
  const bool in_order = kept.idle || kept.suspension.has_value();
  if (in_order && kept.variables.valid()) {
    HOLDFAST_RETURN_IF_ERROR(HoldVariables(std::move(kept.variables)));
  }
  internal::MemoryPlace arenas;
  arenas.set_host(internal::HOST_MEMORY_ARENA);
  for (auto& [handle, arena] : kept.arenas) {
    HOLDFAST_RETURN_IF_ERROR(grants_.Reserve(arenas, arena.size));
    internal::HostMemoryCreated created;
    created.set_handle(handle);
    created.set_size(arena.size);
    HOLDFAST_RETURN_IF_ERROR(HoldHostMemory(created, std::move(arena.memory)));
  }
  for (auto& object : kept.objects) KeepObject(std::move(object));
  if (kept.suspension.has_value()) return AdoptSuspension(kept);
  return memory_.Adopt(kept.chunks);
}

absl::Status SessionHoldings::AdoptOrphan(
    uint64_t session, std::map<uint64_t, KeptChunk> chunks) {
  session_ = session;
  memory_.Open(absl::StrCat("s-", session), nullptr);
  grants_.Open(internal::AccountLimits(), 0);
  return memory_.Adopt(chunks);
}

absl::Status SessionHoldings::AdoptSuspension(KeptSession& kept) {
  HOLDFAST_ASSIGN_OR_RETURN(
      suspended_memory_,
      SuspendedMemory::Adopt(std::move(kept.image), kept.suspension->path(),
                             kept.suspension->bytes(), *ledger_.host()));
  for (const internal::ChunkCreated& chunk : kept.suspension->chunks()) {
    memory_.AdoptSaved(chunk);
  }
  // The daemon before has ended while it brought the session back elsewhere.
  const std::vector<uint32_t> devices = DevicesOf(kept.record->assign());
  if (devices.size() == 1) memory_.MoveSaved(devices.front());
  suspended_ = true;
  KeepSuspension();
  return absl::OkStatus();
}

void SessionHoldings::KeepSuspension() {
  internal::SuspensionRecord record;
  memory_
      .ForEachChunk([&](const internal::ChunkCreated& chunk, int) {
        *record.add_chunks() = chunk;
        return absl::OkStatus();
      })
      .IgnoreError();
  record.set_bytes(suspended_memory_->bytes());
  record.set_path(suspended_memory_->path());
  kept_image_ = kept_.Keep(Name("image"), suspended_memory_->descriptor());
  kept_suspension_ = kept_.KeepRecord(Name("suspension"), record);
}

void SessionHoldings::NoteIdle() {
  idle_ = kept_.KeepRecord(Name("idle"), internal::Resume());
}

absl::Status SessionHoldings::HoldVariables(UniqueFd memory) {
  struct stat info {};
  if (!IsSealed(memory.get()) || fstat(memory.get(), &info) != 0) {
    return absl::InvalidArgumentError("saved variables are no sealed memfd");
  }
  if (static_cast<uint64_t>(info.st_size) > kMaxSavedVariablesBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("saved variables of ", info.st_size,
                     " bytes; the limit is ", kMaxSavedVariablesBytes));
  }
  DropVariables();
  HOLDFAST_ASSIGN_OR_RETURN(
      variables_charge_,
      ledger_.host()->Take(static_cast<uint64_t>(info.st_size)));
  kept_variables_ = kept_.Keep(Name("variables"), memory.get());
  variables_ = std::move(memory);
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
  KeepSuspension();
  grants_.Suspend();
  suspended_ = true;
}

absl::Status SessionHoldings::PlaceOn(uint32_t device) {
  grants_.Suspend();
  internal::MemoryPlace place;
  place.set_device(device);
  HOLDFAST_RETURN_IF_ERROR(grants_.Reserve(place, suspended_bytes()));
  memory_.MoveSaved(device);
  return absl::OkStatus();
}

absl::Status SessionHoldings::BeginRestore(uint64_t epoch) {
  if (!suspended_) CancelSuspension();
  epoch_ = epoch;
  // A successor that failed has left only the beginning of a journal.
  if (!old_journal_.valid()) old_journal_ = std::move(journal_);
  HOLDFAST_ASSIGN_OR_RETURN(journal_, NewJournal());
  released_chunks_.clear();
  released_host_memory_.clear();
  released_imports_.clear();
  grants_.BeginInheritance();
  if (slot_ != nullptr) slot_->BeginRestore();
  memory_.BeginRestore();
  return absl::OkStatus();
}

void SessionHoldings::EndRestore() {
  // In this order: whatever is left of the old epoch counts no more.
  kept_journal_ = kept_.Keep(Name("journal", {epoch_}), journal_.get());
  idle_ = Kept();
  DropVariables();
  kept_suspension_ = Kept();
  kept_image_ = Kept();
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
  if (slot_ != nullptr) slot_->EndRestore();
  suspended_ = false;
  CancelSuspension();
}

absl::Status SessionHoldings::SendTo(Channel& channel) const {
  internal::ToExecutor message;
  message.mutable_journal();
  HOLDFAST_RETURN_IF_ERROR(channel.Send(message, journal_.get()));
  if (slot_ != nullptr) {
    message.mutable_tenant_page()->set_slot(slot_->slot());
    HOLDFAST_RETURN_IF_ERROR(channel.Send(message, slot_->memory()));
  }
  if (!old_journal_.valid()) return absl::OkStatus();
  message.mutable_restore_journal();
  HOLDFAST_RETURN_IF_ERROR(channel.Send(message, old_journal_.get()));
  if (variables_.valid()) {
    message.mutable_restore_variables();
    HOLDFAST_RETURN_IF_ERROR(channel.Send(message, variables_.get()));
  }
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
  if (!old_journal_.valid()) return memory_.Release(chunk);
  if (memory_.HasChunk(chunk)) released_chunks_.insert(chunk);
}

void SessionHoldings::ReleaseImport(uint64_t import) {
  if (!old_journal_.valid()) return memory_.ReleaseImport(import);
  if (memory_.HasImport(import)) released_imports_.insert(import);
}

absl::Status SessionHoldings::HoldHostMemory(
    const internal::HostMemoryCreated& created, UniqueFd memory) {
  if (!memory.valid()) {
    return absl::InvalidArgumentError("memory came without a descriptor");
  }
  if (host_memory_.size() >= kMaxHostMemory) return absl::OkStatus();
  Kept kept = kept_.Keep(Name("arena", {created.handle(), created.size()}),
                         memory.get());
  host_memory_[created.handle()] = {created.size(), std::move(memory),
                                    std::move(kept)};
  return absl::OkStatus();
}

void SessionHoldings::ReleaseHostMemory(uint64_t handle) {
  if (!old_journal_.valid()) {
    host_memory_.erase(handle);
  } else if (host_memory_.contains(handle)) {
    released_host_memory_.insert(handle);
  }
}

absl::StatusOr<std::shared_ptr<const StoredObject>> SessionHoldings::FindObject(
    const std::string& sha256) {
  const auto kept =
      std::find_if(objects_.begin(), objects_.end(), [&](const Object& object) {
        return object.object->header.sha256() == sha256;
      });
  if (kept != objects_.end()) return kept->object;
  HOLDFAST_ASSIGN_OR_RETURN(auto object, store_.Get(sha256));
  KeepObject(object);
  return object;
}

// The number is of the object's contents, so that the next daemon keeps it
// under the same name.
void SessionHoldings::KeepObject(std::shared_ptr<const StoredObject> object) {
  object_bytes_ += object->header.size();
  const uint64_t number = ContentNumber(object->header.sha256());
  Kept header = kept_.KeepRecord(Name("header", {number}), object->header);
  Kept code = kept_.Keep(Name("code", {number}), object->memory.get());
  objects_.push_back({std::move(object), std::move(header), std::move(code)});
  while (objects_.size() > kMaxObjects || object_bytes_ > kMaxObjectBytes) {
    object_bytes_ -= objects_.front().object->header.size();
    objects_.pop_front();
  }
}

void SessionHoldings::Close() {
  idle_ = Kept();
  DropVariables();
  kept_journal_ = Kept();
  slot_ = nullptr;
  memory_.Close();
  grants_.Close();
  host_memory_.clear();
  objects_.clear();
  suspended_ = false;
  kept_suspension_ = Kept();
  kept_image_ = Kept();
  CancelSuspension();
}

}  // namespace holdfast::supervisor
