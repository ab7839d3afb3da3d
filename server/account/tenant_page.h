// SPDX-License-Identifier: Apache-2.0
//
// Shared memory in which the executors of one tenant count handles and
// outstanding commands. The tenant's quota limits the sums over all sessions of
// the tenant. The counts change too often for a message to the supervisor each
// time.
//
//   supervisor                   page                    executors
//   TenantCounts ── limits ──▶ ┌─────────────────────┐
//                              │ limits              │ ──▶ TenantShare: adds to
//   Lease: owns a slot ──────▶ │ slot 0: used, held  │     its own slot, then
//   and empties it at the end  │ slot 1: ...         │     sums all slots
//                              └─────────────────────┘
//
// A slot belongs to one session, and one executor adds to it, so the counts of
// an executor that dies can be removed.
// A compromised executor can write anything here, which falsifies only the
// counts of its own tenant. The supervisor does not trust the counts.
#ifndef HOLDFAST_SERVER_ACCOUNT_TENANT_PAGE_H_
#define HOLDFAST_SERVER_ACCOUNT_TENANT_PAGE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

// A page of zero bytes has no limits and no counts.
struct TenantPage {
  // The numbers of the kinds of counts: 0 for outstanding commands, and the
  // value of a HandleKind (core/base/handle.h) for handles of that kind.
  static constexpr size_t kCommands = 0;
  static constexpr size_t kKinds = 16;
  // The most sessions of a tenant.
  static constexpr uint32_t kSlots = 1024;

  using Counts = std::array<std::atomic<uint64_t>, kKinds>;

  // The counts of one session. A slot has its own cache lines, because each
  // executor writes to its slot all the time.
  struct alignas(64) Slot {
    // The counts of the present executor.
    Counts used;
    // While a session is restored, the counts of its last executor. The larger
    // of `used` and `held` counts, so that all of the session's resources fit.
    Counts held;
    // True while a session is restored: no limit applies to this slot.
    std::atomic<bool> restoring;
  };

  // The limits; 0: there is no limit.
  std::atomic<uint64_t> command_limit;
  std::atomic<uint64_t> handle_limit;  // of each kind
  // The slots with this index and above have no session.
  std::atomic<uint32_t> slots_used;
  std::array<Slot, kSlots> slots;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_ACCOUNT_TENANT_PAGE_H_
