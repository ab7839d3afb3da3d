// SPDX-License-Identifier: Apache-2.0
#include "server/account/tenant_share.h"

#include <sched.h>

#include <algorithm>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/quota_exceeded.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Two executors that take the last of something at the same instant both see
// too much, and withdraw. One that is refused so many times in a row is over
// the limit.
constexpr int kTries = 8;

// How often one that waits looks whether others have returned something.
constexpr absl::Duration kFirstPause = absl::Microseconds(20);
constexpr absl::Duration kLongestPause = absl::Milliseconds(1);

// A count beyond this is that of an executor that was killed while it counted,
// or that writes what it likes.
constexpr uint64_t kLargestCount = uint64_t{1} << 60;

uint64_t Sane(uint64_t count) { return count > kLargestCount ? 0 : count; }

}  // namespace

absl::StatusOr<std::shared_ptr<TenantShare>> TenantShare::Map(
    int memory, uint32_t slot, const std::string& tenant) {
  if (!IsFixedMemfd(memory, sizeof(TenantPage)) || slot >= TenantPage::kSlots) {
    return absl::InvalidArgumentError("no page of the tenant's counts");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      FileMapping mapping,
      FileMapping::Map(memory, FileMapping::Access::kReadWrite,
                       sizeof(TenantPage)));
  return absl::WrapUnique(new TenantShare(std::move(mapping), slot, tenant));
}

uint64_t TenantShare::LimitOf(size_t kind) const {
  const uint64_t limit = kind == TenantPage::kCommands ? page().command_limit
                                                       : page().handle_limit;
  return limit == 0 ? UINT64_MAX : limit;
}

uint64_t TenantShare::SumOf(size_t kind) const {
  const uint32_t slots =
      std::min<uint32_t>(page().slots_used, TenantPage::kSlots);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < slots; ++i) {
    const TenantPage::Slot& slot = page().slots[i];
    sum += std::max(Sane(slot.used[kind]), Sane(slot.held[kind]));
  }
  return sum;
}

// Counts first and looks then, as all others do: of two that take the last at
// once, at least one sees the other.
bool TenantShare::TryTake(size_t kind, uint64_t amount) {
  TenantPage::Slot& own = page().slots[slot_];
  own.used[kind] += amount;
  const uint64_t limit = LimitOf(kind);
  if (limit == UINT64_MAX || own.restoring || SumOf(kind) <= limit) return true;
  own.used[kind] -= amount;
  return false;
}

absl::Status TenantShare::Take(size_t kind, uint64_t amount,
                               const std::string& what) {
  if (amount == 0) return absl::OkStatus();
  for (int i = 0; i < kTries; ++i) {
    if (TryTake(kind, amount)) return absl::OkStatus();
    sched_yield();
  }
  const QuotaExceeded exceeded = {
      .quota = absl::StrCat(what, " of tenant ", tenant_),
      .limit = LimitOf(kind),
      .used = SumOf(kind),
      .requested = amount};
  absl::Status status = absl::ResourceExhaustedError(absl::StrCat(
      exceeded.quota, ": ", amount, " asked for, ", exceeded.used,
      " are in use, the limit is ", exceeded.limit, " (the tenant's quota)"));
  SetQuotaExceeded(exceeded, &status);
  return status;
}

absl::Status TenantShare::Await(size_t kind, uint64_t amount,
                                const std::string& what) {
  absl::Duration pause = kFirstPause;
  while (!TryTake(kind, amount)) {
    if (closed_) return absl::UnavailableError("the session is being closed");
    if (amount > LimitOf(kind)) return Take(kind, amount, what);
    absl::SleepFor(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  return absl::OkStatus();
}

void TenantShare::Return(size_t kind, uint64_t amount) {
  page().slots[slot_].used[kind] -= amount;
}

}  // namespace holdfast
