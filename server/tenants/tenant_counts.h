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

// The supervisor's side of a tenant's page (tenant_page.h): sets the limits in
// the page, and gives each session a slot of the page. The tenant and the
// leases hold the object. Thread-safe.
//
// The limits are for the counts that executors keep without a request to the
// supervisor: outstanding commands, and handles of each kind.
class TenantCounts : public std::enable_shared_from_this<TenantCounts> {
 public:
  // A session's slot, for all executors of the session. Not thread-safe.
  class Lease {
   public:
    // Empties the slot. REQUIRES: no executor of the session runs any more.
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;

    // Returns the slot's number, which is less than TenantPage::kSlots.
    uint32_t slot() const { return slot_; }
    // Returns a descriptor of the page's memory, for the executor; borrowed.
    int memory() const { return counts_->memory_.get(); }

    // Prepares the slot for a successor of an executor that has ended. Until
    // EndRestore, the handles of the ended executor count, and no limit of the
    // page applies to the successor. The commands of the ended executor no
    // longer count. May be called again if a successor fails.
    void BeginRestore();
    void EndRestore();

   private:
    friend class TenantCounts;
    Lease(std::shared_ptr<TenantCounts> counts, uint32_t slot)
        : counts_(std::move(counts)), slot_(slot) {}
    // Returns the executor's counts, which are hostile input.
    TenantPage::Slot& counters() const;

    const std::shared_ptr<TenantCounts> counts_;
    const uint32_t slot_;
  };

  // Makes a page. The tenant's name is for messages. Returns an error if the
  // memory cannot be made or mapped.
  static absl::StatusOr<std::shared_ptr<TenantCounts>> Create(
      const std::string& tenant);

  // Sets the limits at once. Existing counts stay. A limit of 0 means no limit.
  void SetLimits(const v1::Quota& quota);

  // Takes a free slot for a session. RESOURCE_EXHAUSTED: the tenant has
  // TenantPage::kSlots sessions.
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
  // Writes to the page how many slots executors must add up.
  void PublishSlots() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string tenant_;
  const UniqueFd memory_;
  const FileMapping mapping_;
  absl::Mutex mutex_;
  std::bitset<TenantPage::kSlots> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TENANT_COUNTS_H_
