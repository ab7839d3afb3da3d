// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/tenant_counts.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

void Empty(TenantPage::Counts& counts) {
  for (auto& count : counts) count = 0;
}

}  // namespace

absl::StatusOr<std::shared_ptr<TenantCounts>> TenantCounts::Create(
    const std::string& tenant) {
  HOLDFAST_ASSIGN_OR_RETURN(
      UniqueFd memory, CreateFixedMemfd("holdfast-tenant", sizeof(TenantPage)));
  HOLDFAST_ASSIGN_OR_RETURN(
      FileMapping mapping,
      FileMapping::Map(memory.get(), FileMapping::Access::kReadWrite,
                       sizeof(TenantPage)));
  return absl::WrapUnique(
      new TenantCounts(tenant, std::move(memory), std::move(mapping)));
}

void TenantCounts::SetLimits(const v1::Quota& quota) {
  page().command_limit = quota.outstanding_commands();
  page().handle_limit = quota.handles();
}

absl::StatusOr<std::unique_ptr<TenantCounts::Lease>> TenantCounts::TakeSlot() {
  absl::MutexLock lock(&mutex_);
  for (uint32_t slot = 0; slot < TenantPage::kSlots; ++slot) {
    if (taken_[slot]) continue;
    taken_[slot] = true;
    PublishSlots();
    return absl::WrapUnique(new Lease(shared_from_this(), slot));
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("tenant ", tenant_, " has ", TenantPage::kSlots,
                   " sessions, which is the limit"));
}

void TenantCounts::ReturnSlot(uint32_t slot) {
  absl::MutexLock lock(&mutex_);
  taken_[slot] = false;
  PublishSlots();
}

// From what is known here: an executor may have written to the page.
void TenantCounts::PublishSlots() {
  uint32_t used = TenantPage::kSlots;
  while (used > 0 && !taken_[used - 1]) --used;
  page().slots_used = used;
}

TenantPage::Slot& TenantCounts::Lease::counters() const {
  return counts_->page().slots[slot_];
}

TenantCounts::Lease::~Lease() {
  EndRestore();
  Empty(counters().used);
  counts_->ReturnSlot(slot_);
}

void TenantCounts::Lease::BeginRestore() {
  TenantPage::Slot& slot = counters();
  // A successor that has failed leaves a part of what is held.
  const bool again = slot.restoring.exchange(true);
  for (size_t kind = 0; kind < TenantPage::kKinds; ++kind) {
    if (!again && kind != TenantPage::kCommands) {
      slot.held[kind] = slot.used[kind].load();
    }
    slot.used[kind] = 0;
  }
}

void TenantCounts::Lease::EndRestore() {
  counters().restoring = false;
  Empty(counters().held);
}

}  // namespace holdfast
