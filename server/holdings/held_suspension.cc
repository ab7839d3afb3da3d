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
  if (const auto& tenant = memory_.tenant(); path.empty() && tenant) {
    HOLDFAST_ASSIGN_OR_RETURN(of_tenant,
                              tenant->suspended_bytes()->Take(bytes));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      saved_, SuspendedMemory::Create(path, bytes, *ledger_.host()));
  of_tenant_ = std::move(of_tenant);
  const absl::Status status = TakeShare();
  if (!status.ok()) {
    Drop();
    return status;
  }
  return Room{chunks_, saved_->descriptor(), bytes};
}

absl::Status HeldSuspension::TakeShare() {
  const auto& tenant = memory_.tenant();
  if (!saved_->path().empty() || tenant == nullptr) return absl::OkStatus();
  const auto share = ledger_.HostOf(tenant->name(), tenant->suspended_bytes());
  if (share == nullptr) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(share_, share->Take(saved_->bytes()));
  return absl::OkStatus();
}

void HeldSuspension::Suspend() {
  memory_.Suspend(chunks_);
  Keep();
  suspended_ = true;
}

absl::Status HeldSuspension::Adopt(KeptSession& kept) {
  HOLDFAST_ASSIGN_OR_RETURN(
      saved_,
      SuspendedMemory::Adopt(std::move(kept.image), kept.suspension->path(),
                             kept.suspension->bytes(), *ledger_.host()));
  HOLDFAST_RETURN_IF_ERROR(TakeShare());
  if (const auto& tenant = memory_.tenant(); saved_->path().empty() && tenant) {
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
  share_ = {};
}

}  // namespace holdfast
