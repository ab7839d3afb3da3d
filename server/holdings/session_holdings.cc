// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/session_holdings.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/kept/kept_name.h"

namespace holdfast {

SessionHoldings::SessionHoldings(const Services& services)
    : kept_(services.kept),
      grants_(services.ledger),
      memory_({services.exports, services.collections, services.memory, grants_,
               services.kept}),
      journal_(kept_),
      variables_(kept_, *services.ledger.host()),
      arenas_(kept_),
      objects_(kept_, services.store),
      suspension_(kept_, memory_, services.ledger) {}

absl::Status SessionHoldings::Open(const internal::Assign& assign,
                                   std::shared_ptr<Tenant> tenant) {
  kept_.Open(SessionNumber(assign.session_id()));
  HOLDFAST_ASSIGN_OR_RETURN(slot_, tenant->TakeSlot());
  memory_.Open(assign.session_id(), tenant);
  grants_.Open(assign.limits(), static_cast<size_t>(assign.devices_size()),
               std::move(tenant));
  return journal_.Open();
}

absl::Status SessionHoldings::Adopt(KeptSession& kept,
                                    std::shared_ptr<Tenant> tenant) {
  const internal::Assign& assign = kept.record->assign();
  kept_.Open(SessionNumber(assign.session_id()));
  HOLDFAST_ASSIGN_OR_RETURN(slot_, tenant->TakeSlot());
  memory_.Open(assign.session_id(), tenant);
  grants_.Open(assign.limits(), static_cast<size_t>(assign.devices_size()),
               std::move(tenant));
  journal_.Adopt(std::move(kept.journal), kept.epoch);
  if (kept.idle) NoteIdle();
  // The variables of a daemon that was killed before its executors were idle
  // are out of date.
  const bool in_order = kept.idle || kept.suspension.has_value();
  if (in_order && kept.variables.valid()) {
    HOLDFAST_RETURN_IF_ERROR(variables_.Hold(std::move(kept.variables)));
  }
  HOLDFAST_RETURN_IF_ERROR(AdoptArenas(kept.arenas));
  for (auto& object : kept.objects) objects_.Hold(std::move(object));
  if (kept.suspension.has_value()) return suspension_.Adopt(kept);
  return memory_.Adopt(kept.chunks);
}

absl::Status SessionHoldings::AdoptArenas(
    std::map<uint64_t, KeptArena>& arenas) {
  internal::MemoryPlace place;
  place.set_host(internal::HOST_MEMORY_ARENA);
  for (auto& [handle, arena] : arenas) {
    HOLDFAST_RETURN_IF_ERROR(grants_.Reserve(place, arena.size));
    HOLDFAST_RETURN_IF_ERROR(
        arenas_.Hold(handle, arena.size, std::move(arena.memory)));
  }
  return absl::OkStatus();
}

absl::Status SessionHoldings::AdoptOrphan(
    uint64_t session, std::map<uint64_t, KeptChunk> chunks) {
  kept_.Open(session);
  memory_.Open(absl::StrCat("s-", session), nullptr);
  grants_.Open(internal::AccountLimits(), 0);
  return memory_.Adopt(chunks);
}

void SessionHoldings::NoteIdle() {
  idle_ = kept_.KeepRecord("idle", {}, internal::Resume());
}

void SessionHoldings::NoteBusy() {
  idle_ = {};
  variables_.Drop();
}

void SessionHoldings::Suspend() {
  suspension_.Suspend();
  grants_.Suspend();
}

absl::Status SessionHoldings::PlaceOn(uint32_t device) {
  grants_.Suspend();
  internal::MemoryPlace place;
  place.set_device(device);
  HOLDFAST_RETURN_IF_ERROR(grants_.Reserve(place, suspension_.bytes()));
  memory_.MoveSaved(device);
  return absl::OkStatus();
}

absl::Status SessionHoldings::BeginRestore(uint64_t epoch) {
  if (!suspension_.suspended()) suspension_.Drop();
  HOLDFAST_RETURN_IF_ERROR(journal_.BeginRestore(epoch));
  released_chunks_.clear();
  released_imports_.clear();
  arenas_.BeginRestore();
  grants_.BeginInheritance();
  if (slot_ != nullptr) slot_->BeginRestore();
  memory_.BeginRestore();
  return absl::OkStatus();
}

void SessionHoldings::EndRestore() {
  // First, because the old journal and what belongs to it count no more.
  journal_.EndRestore();
  NoteBusy();
  suspension_.Drop();
  for (const uint64_t chunk : std::exchange(released_chunks_, {})) {
    memory_.Release(chunk);
  }
  for (const uint64_t import : std::exchange(released_imports_, {})) {
    memory_.imports().Release(import);
  }
  arenas_.EndRestore();
  memory_.EndRestore();
  grants_.EndInheritance();
  if (slot_ != nullptr) slot_->EndRestore();
}

absl::Status SessionHoldings::SendTo(Channel& channel) const {
  internal::ToExecutor message;
  message.mutable_journal();
  HOLDFAST_RETURN_IF_ERROR(channel.Send(message, journal_.current()));
  if (slot_ != nullptr) {
    message.mutable_tenant_page()->set_slot(slot_->slot());
    HOLDFAST_RETURN_IF_ERROR(channel.Send(message, slot_->memory()));
  }
  if (!journal_.restoring()) return absl::OkStatus();
  message.mutable_restore_journal();
  HOLDFAST_RETURN_IF_ERROR(channel.Send(message, journal_.old()));
  if (variables_.descriptor() >= 0) {
    message.mutable_restore_variables();
    HOLDFAST_RETURN_IF_ERROR(channel.Send(message, variables_.descriptor()));
  }
  HOLDFAST_RETURN_IF_ERROR(
      arenas_.ForEach([&](uint64_t handle, uint64_t size, int descriptor) {
        message.mutable_restore_host_memory()->set_handle(handle);
        message.mutable_restore_host_memory()->set_size(size);
        return channel.Send(message, descriptor);
      }));
  return memory_.ForEachChunk(
      [&](const internal::ChunkCreated& chunk, int descriptor) {
        *message.mutable_restore_chunk() = chunk;
        return channel.Send(
            message, chunk.saved() ? suspension_.descriptor() : descriptor);
      });
}

void SessionHoldings::ReleaseChunk(uint64_t chunk) {
  if (!journal_.restoring()) return memory_.Release(chunk);
  if (memory_.HasChunk(chunk)) released_chunks_.insert(chunk);
}

void SessionHoldings::ReleaseImport(uint64_t import) {
  if (!journal_.restoring()) return memory_.imports().Release(import);
  if (memory_.imports().Has(import)) released_imports_.insert(import);
}

void SessionHoldings::ReleaseArena(uint64_t handle) {
  if (!journal_.restoring()) return arenas_.Release(handle);
  arenas_.ReleaseLater(handle);
}

void SessionHoldings::Close() {
  NoteBusy();
  journal_.Close();
  slot_ = nullptr;
  memory_.Close();
  grants_.Close();
  arenas_.Close();
  objects_.Close();
  suspension_.Drop();
}

}  // namespace holdfast
