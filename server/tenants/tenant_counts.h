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
// The limits are for the counts that executors keep without asking the
// supervisor: outstanding commands, and handles of each kind. See
// tenant_page.h.
class TenantCounts : public std::enable_shared_from_this<TenantCounts> {
 public:
  // A session's slot, for all executors of the session. Not thread-safe.
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

    // Prepares for a successor of an executor that has ended. The handles of
    // the ended executor stay taken until EndRestore, and the successor is
    // refused nothing; its commands do not stay taken. Called again if a
    // successor fails.
    void BeginRestore();
    void EndRestore();

   private:
    friend class TenantCounts;
    Lease(std::shared_ptr<TenantCounts> counts, uint32_t slot)
        : counts_(std::move(counts)), slot_(slot) {}
    // The executor's counts, which are hostile input.
    TenantPage::Slot& counters() const;

    const std::shared_ptr<TenantCounts> counts_;
    const uint32_t slot_;
  };

  // Makes a page. The tenant's name is for messages. Fails if the system has no
  // memory.
  static absl::StatusOr<std::shared_ptr<TenantCounts>> Create(
      const std::string& tenant);

  // Sets the limits at once. Existing counts stay. A limit of 0 is no limit.
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
  // Makes the slot free for another session of the tenant.
  void ReturnSlot(uint32_t slot);
  // Tells executors the number of slots to add up.
  void PublishSlots() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string tenant_;
  const UniqueFd memory_;
  const FileMapping mapping_;
  absl::Mutex mutex_;
  std::bitset<TenantPage::kSlots> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TENANT_COUNTS_H_
