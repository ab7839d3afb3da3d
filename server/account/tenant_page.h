// SPDX-License-Identifier: Apache-2.0
//
// Shared memory in which the executors of one tenant count handles and
// outstanding commands, which its quota limits over all its sessions. They
// change too often to ask the supervisor each time.
//
//   supervisor                   page                    executors
//   TenantCounts ── limits ──▶ ┌─────────────────────┐
//                              │ limits              │ ──▶ TenantShare: adds to
//   Lease: gives out a slot ─▶ │ slot 0: used, held  │     its own slot, then
//   and empties it             │ slot 1: ...         │     sums all slots
//                              └─────────────────────┘
//
// A slot has one writer, so the counts of an executor that dies can be removed.
// A compromised executor can write anything here, which falsifies only the
// counts of its own tenant. The supervisor does not trust the counts.
#ifndef HOLDFAST_SERVER_ACCOUNT_TENANT_PAGE_H_
#define HOLDFAST_SERVER_ACCOUNT_TENANT_PAGE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

// Zero bytes are a page without limits and counts.
struct TenantPage {
  // A kind of handles has its HandleKind as its number (core/base/handle.h).
  static constexpr size_t kCommands = 0;
  static constexpr size_t kKinds = 16;
  // The most sessions of a tenant.
  static constexpr uint32_t kSlots = 1024;

  using Counts = std::array<std::atomic<uint64_t>, kKinds>;

  // On its own cache lines, because each executor writes to its slot all the
  // time.
  struct alignas(64) Slot {
    Counts used;
    // While a session is restored, the counts of its last executor. They stay
    // taken, so that all of its resources fit.
    Counts held;
    std::atomic<bool> restoring;
  };

  // 0: there is no limit.
  std::atomic<uint64_t> command_limit;
  std::atomic<uint64_t> handle_limit;  // of each kind
  // The slots from this one on have no session.
  std::atomic<uint32_t> slots_used;
  std::array<Slot, kSlots> slots;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_ACCOUNT_TENANT_PAGE_H_
