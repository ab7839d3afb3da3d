// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_TENANT_H_
#define HOLDFAST_SERVER_TENANTS_TENANT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/internal/restart.pb.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/collections.pb.h"
#include "server/account/quota.h"
#include "server/counters/execution_totals.h"
#include "server/tenants/compile_budget.h"
#include "server/tenants/concurrency.h"
#include "server/tenants/tenant_counts.h"

namespace holdfast {

// A client for which the daemon counts resources: all its sessions and
// collections, and their bytes, count against its quotas. Thread-safe. Charges
// on its quotas can outlive the tenant.
//
// TenantTable makes tenants, and Callers finds the tenant of each call.
// Sessions, executors and collections hold their tenant by shared_ptr, so that
// a tenant that was ended is still charged for them until they have ended.
class Tenant {
 public:
  enum class Kind {
    kOwn,        // of one identity that has no entry in the policy
    kNamed,      // of the policy file
    kTemporary,  // made by CreateTenant, for the time of a job
  };

  // A tenant's configuration.
  struct Options {
    std::string name;
    Kind kind = Kind::kOwn;
    // Executors with the same owner share generated code; empty: no sharing.
    std::string code_owner;
    v1::Quota quota;
    // Device memory that no other tenant can take, in bytes on each of its
    // devices. Only for display; DeviceShares enforces it.
    uint64_t reserved_device_bytes = 0;
    uint32_t weight = 1;
    std::vector<uint32_t> devices;  // ordinals; empty: all
    // The time limit of its sessions' kernels; 0: the daemon's limit.
    absl::Duration kernel_time_limit = absl::ZeroDuration();
    // The part of each device's range in which the priorities of its streams
    // lie.
    v1::StreamPriorityClass stream_priorities =
        v1::STREAM_PRIORITY_CLASS_UNSPECIFIED;
    Concurrency concurrency;
    // The visibility of its collections unless they are configured otherwise.
    v1::Visibility collections;
    // True if its sessions may give device memory to processes outside
    // Holdfast.
    bool foreign_exports = true;
    // Counts the work of the executors of several tenants; may be null.
    std::shared_ptr<ExecutionTotals> group = nullptr;
    // The compile budget of several tenants; may be null.
    std::shared_ptr<CompileBudget> compile_group = nullptr;
  };

  explicit Tenant(const Options& options);
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  const std::string& name() const { return name_; }
  // See CodeCache.
  const std::string& code_owner() const { return code_owner_; }
  Kind kind() const { return kind_; }
  bool temporary() const { return kind_ == Kind::kTemporary; }
  // Return values of the last Update, which says which of them apply to open
  // sessions.
  std::vector<uint32_t> devices() const;
  uint32_t weight() const;
  absl::Duration kernel_time_limit() const;
  v1::StreamPriorityClass stream_priorities() const;
  Concurrency concurrency() const;
  v1::Visibility collections() const;
  bool foreign_exports() const;
  v1::Quota quota() const;

  // Replaces the configuration, except for name, kind, code_owner, group and
  // compile_group. Devices, stream priorities, concurrency and the kernel time
  // limit apply to new sessions, and so does foreign_exports for IPC handles.
  // Everything else applies to open sessions, too. Memory that is held stays,
  // even over a lower limit.
  void Update(const Options& options);

  // Replaces the quota alone. A limit of 0 means no limit, with one exception:
  // if device_bytes has a limit and collection_bytes is 0, the limit of
  // collection_bytes is that of device_bytes plus kChunkSlackOfDevice. Memory
  // that is held stays, even over a new limit.
  void SetQuota(const v1::Quota& quota);

  // Takes a slot for a session in the page in which the tenant's executors
  // count their commands and handles. Returns null for a tenant of kind kOwn,
  // which has no quota. RESOURCE_EXHAUSTED: as for TenantCounts::TakeSlot.
  absl::StatusOr<std::unique_ptr<TenantCounts::Lease>> TakeSlot();

  // Counters returns the sums for the next daemon. Add adds the sums of the
  // earlier daemon.
  internal::TenantCounters Counters() const;
  void Add(const internal::TenantCounters& counters);

  // Returns true if each buffer of its sessions is charged to device_bytes(). A
  // tenant of kind kOwn has no quota, so its executors do not reserve each
  // buffer.
  bool counts_buffers() const { return kind_ != Kind::kOwn; }

  // Return the quotas of bytes of device buffers (as requested), of page-locked
  // buffers, and of arenas. The objects stay the same; SetQuota changes their
  // limits.
  const std::shared_ptr<Quota>& device_bytes() const { return device_bytes_; }
  const std::shared_ptr<Quota>& pinned_bytes() const { return pinned_bytes_; }
  const std::shared_ptr<Quota>& arena_bytes() const { return arena_bytes_; }
  // Returns the quota of bytes of the chunks that its sessions hold, over all
  // devices. The limit follows from the limit of device_bytes(): see
  // ChunkLimit. Without it, many small buffers that have a chunk each, or the
  // holes between buffers, could take a whole device.
  const std::shared_ptr<Quota>& chunk_bytes() const { return chunk_bytes_; }
  // Returns the quota of bytes of its suspended sessions in host memory. The
  // limit is that of chunk_bytes().
  const std::shared_ptr<Quota>& suspended_bytes() const {
    return suspended_bytes_;
  }
  // Returns the quota of bytes of the versions of its collections.
  const std::shared_ptr<Quota>& collection_bytes() const {
    return collection_bytes_;
  }

  // Returns the budget with the quota's limits on compile_time and
  // compile_requests.
  const std::shared_ptr<CompileBudget>& compile_budget() const {
    return compile_budget_;
  }
  // Returns the bytes reserved for it on each of its devices; 0: nothing is
  // reserved.
  uint64_t reserved_device_bytes() const;

  // Returns the counters of the work of its sessions' executors.
  const ExecutionTotals& execution() const { return *execution_; }
  // Returns the counters of this work: the tenant's, and its group's if there
  // is one. ExecutorProcess opens a counter page in each.
  std::vector<std::shared_ptr<ExecutionTotals>> executions() const;

  // Checks that a tenant with `open` sessions may open another one.
  // RESOURCE_EXHAUSTED: its quota does not allow another one. UNAVAILABLE: the
  // tenant is ending.
  absl::Status CheckMayOpen(uint64_t open) const;

  // Makes CheckMayOpen fail from now on. Cannot be undone.
  void BeginEnd() { ending_ = true; }
  bool ending() const { return ending_; }

  // Returns all fields of TenantInfo except the number of sessions; some
  // figures are from the executors' last reports.
  v1::TenantInfo Info() const;

 private:
  const std::string name_;
  const Kind kind_;
  const std::string code_owner_;
  const std::shared_ptr<Quota> device_bytes_;
  const std::shared_ptr<Quota> chunk_bytes_;
  const std::shared_ptr<Quota> suspended_bytes_;
  const std::shared_ptr<Quota> pinned_bytes_;
  const std::shared_ptr<Quota> arena_bytes_;
  const std::shared_ptr<Quota> collection_bytes_;
  const std::shared_ptr<CompileBudget> compile_budget_;
  const std::shared_ptr<ExecutionTotals> execution_ =
      std::make_shared<ExecutionTotals>();
  const std::shared_ptr<ExecutionTotals> group_;
  std::atomic<bool> ending_ = false;
  mutable absl::Mutex mutex_;
  v1::Quota quota_ ABSL_GUARDED_BY(mutex_);
  // Null until its first session.
  std::shared_ptr<TenantCounts> counts_ ABSL_GUARDED_BY(mutex_);
  uint64_t reserved_device_bytes_ ABSL_GUARDED_BY(mutex_);
  uint32_t weight_ ABSL_GUARDED_BY(mutex_);
  absl::Duration kernel_time_limit_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> devices_ ABSL_GUARDED_BY(mutex_);
  v1::StreamPriorityClass stream_priorities_ ABSL_GUARDED_BY(mutex_);
  Concurrency concurrency_ ABSL_GUARDED_BY(mutex_);
  v1::Visibility collections_ ABSL_GUARDED_BY(mutex_);
  bool foreign_exports_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TENANT_H_
