// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/held_suspension.h"

#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "server/holdings/assigned_devices.h"
#include "server/tenants/tenant.h"

namespace holdfast {

absl::StatusOr<HeldSuspension::Room> HeldSuspension::Prepare(
    const std::string& path) {
  HOLDFAST_RETURN_IF_ERROR(memory_.CheckAlone());
  uint64_t bytes = 0;
  chunks_ = memory_.PlanSave(&bytes);
  Charge of_tenant;
  if (!path.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(saved_, SuspendedMemory::CreateFile(path, bytes));
  } else {
    if (const auto& tenant = memory_.tenant()) {
      HOLDFAST_ASSIGN_OR_RETURN(of_tenant,
                                tenant->suspended_bytes()->Take(bytes));
    }
    HOLDFAST_ASSIGN_OR_RETURN(MemoryLedger::HostCharge charge, TakeHost(bytes));
    HOLDFAST_ASSIGN_OR_RETURN(
        saved_, SuspendedMemory::CreateInMemory(bytes, std::move(charge)));
  }
  of_tenant_ = std::move(of_tenant);
  return Room{chunks_, saved_->descriptor(), bytes};
}

absl::StatusOr<MemoryLedger::HostCharge> HeldSuspension::TakeHost(
    uint64_t bytes) const {
  const auto& tenant = memory_.tenant();
  if (tenant == nullptr) return ledger_.TakeHost("", nullptr, bytes);
  return ledger_.TakeHost(tenant->name(), tenant->suspended_bytes(), bytes);
}

void HeldSuspension::Suspend() {
  memory_.Suspend(chunks_);
  Keep();
  suspended_ = true;
}

absl::Status HeldSuspension::Adopt(KeptSession& kept) {
  const std::string& path = kept.suspension->path();
  const uint64_t bytes = kept.suspension->bytes();
  MemoryLedger::HostCharge charge;
  if (path.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(charge, TakeHost(bytes));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      saved_, SuspendedMemory::Adopt(std::move(kept.image), path, bytes,
                                     std::move(charge)));
  if (const auto& tenant = memory_.tenant(); path.empty() && tenant) {
    of_tenant_ = tenant->suspended_bytes()->TakeBeyondLimit(saved_->bytes());
  }
  for (const internal::ChunkCreated& chunk : kept.suspension->chunks()) {
    memory_.AdoptSaved(chunk);
  }
  // The daemon before has ended while it brought the session back elsewhere.
  const std::vector<uint32_t> devices = DevicesOf(kept.record->assign());
  if (devices.size() == 1) memory_.MoveSaved(devices.front());
  suspended_ = true;
  Keep();
  return absl::OkStatus();
}

void HeldSuspension::Keep() {
  internal::SuspensionRecord record;
  memory_
      .ForEachChunk([&](const internal::ChunkCreated& chunk, int) {
        *record.add_chunks() = chunk;
        return absl::OkStatus();
      })
      .IgnoreError();
  record.set_bytes(saved_->bytes());
  record.set_path(saved_->path());
  kept_image_ = kept_.Keep("image", {}, saved_->descriptor());
  kept_record_ = kept_.KeepRecord("suspension", {}, record);
}

void HeldSuspension::Drop() {
  suspended_ = false;
  kept_record_ = {};
  kept_image_ = {};
  saved_ = nullptr;
  of_tenant_ = {};
}

}  // namespace holdfast
