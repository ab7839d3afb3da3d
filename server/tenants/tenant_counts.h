// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_TENANT_COUNTS_H_
#define HOLDFAST_SERVER_TENANTS_TENANT_COUNTS_H_

#include <bitset>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/admin.pb.h"
#include "server/account/tenant_page.h"

namespace holdfast {

// The supervisor's end of a tenant's page: sets its limits, and gives each
// session a slot of it. Thread-safe. Held by the tenant and by its leases.
//
// Holds limits on what executors count themselves, without a question to the
// supervisor: commands on their way, and handles of each kind. See
// tenant_page.h.
class TenantCounts : public std::enable_shared_from_this<TenantCounts> {
 public:
  // A session's slot, for as long as the session lives, whichever executor
  // serves it. Not thread-safe.
  class Lease {
   public:
    // Empties the slot. REQUIRES: no executor of the session runs any more.
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    // Below TenantPage::kSlots.
    uint32_t slot() const { return slot_; }
    // The page's memory, for the executor.
    int memory() const { return counts_->memory_.get(); }

    // The executor has ended, and a successor will take again what it had.
    // Until EndRestore that stays taken, and the successor is refused nothing.
    // May come again, when a successor has failed. Commands do not stay taken.
    void BeginRestore();
    void EndRestore();

   private:
    friend class TenantCounts;
    Lease(std::shared_ptr<TenantCounts> counts, uint32_t slot)
        : counts_(std::move(counts)), slot_(slot) {}
    // An executor may have written anything there.
    TenantPage::Slot& counters() const;

    const std::shared_ptr<TenantCounts> counts_;
    const uint32_t slot_;
  };

  // Makes a page for the tenant of this name. The name is for messages. Fails
  // if the system has no memory.
  static absl::StatusOr<std::shared_ptr<TenantCounts>> Create(
      const std::string& tenant);

  // Holds at once. Nothing that is held is taken away. A limit of 0 is none.
  void SetLimits(const v1::Quota& quota);

  // RESOURCE_EXHAUSTED: the tenant has TenantPage::kSlots sessions.
  absl::StatusOr<std::unique_ptr<Lease>> TakeSlot();

 private:
  TenantCounts(const std::string& tenant, UniqueFd memory, FileMapping mapping)
      : tenant_(tenant),
        memory_(std::move(memory)),
        mapping_(std::move(mapping)) {}
  TenantPage& page() const {
    return *static_cast<TenantPage*>(mapping_.data());
  }
  // The next session of the tenant may get it.
  void ReturnSlot(uint32_t slot);
  // Tells executors how many slots they have to add up.
  void PublishSlots() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string tenant_;
  const UniqueFd memory_;
  const FileMapping mapping_;
  absl::Mutex mutex_;
  std::bitset<TenantPage::kSlots> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TENANT_COUNTS_H_
