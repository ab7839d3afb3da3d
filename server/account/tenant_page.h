// SPDX-License-Identifier: Apache-2.0
//
// Memory in which the executors of one tenant count together what its quota
// limits over all its sessions and what is taken too often to ask the
// supervisor each time: handles and outstanding commands.
//
//   supervisor                   page                    executors
//   TenantCounts ── limits ──▶ ┌─────────────────────┐
//                              │ limits              │ ──▶ TenantShare: adds to
//   Lease: gives out a slot ─▶ │ slot 0: used, held  │     its own slot, then
//   and empties it             │ slot 1: ...         │     sums all slots
//                              └─────────────────────┘
//
// A slot has one writer, so an executor that dies leaves no count behind that
// nobody could take back. An executor that a client has taken over can write
// what it likes here, which falsifies the counts of its own tenant and of no
// other. The supervisor believes nothing that it reads.
#ifndef HOLDFAST_SERVER_ACCOUNT_TENANT_PAGE_H_
#define HOLDFAST_SERVER_ACCOUNT_TENANT_PAGE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast {

// Zero bytes are a page without limits and counts.
struct TenantPage {
  // Handles have the number of their kind (core/base/handle.h).
  static constexpr size_t kCommands = 0;
  static constexpr size_t kKinds = 16;
  // Sessions that a tenant may have at a time.
  static constexpr uint32_t kSlots = 1024;

  using Counts = std::array<std::atomic<uint64_t>, kKinds>;

  // On cache lines of its own, since executors write to theirs all the time.
  struct alignas(64) Slot {
    Counts used;
    // While a session is restored: the counts of the executor before, which
    // stay taken. Anything that the session had fits then.
    Counts held;
    std::atomic<bool> restoring;
  };

  // 0: there is no limit.
  std::atomic<uint64_t> command_limit;
  std::atomic<uint64_t> handle_limit;  // of each kind
  // No session has a slot from this one on.
  std::atomic<uint32_t> slots_used;
  std::array<Slot, kSlots> slots;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_ACCOUNT_TENANT_PAGE_H_
