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

// A tenant is who pays: sessions, collections and their bytes count against it,
// over all its sessions. Thread-safe. The tenant may end before the charges on
// its quotas.
//
// Made by TenantTable, found by Callers for each call. Sessions, executors and
// collections hold it, so that one that has ended can still be charged until
// they let go.
class Tenant {
 public:
  enum class Kind {
    kOwn,        // an identity that nothing names: it is its own tenant
    kNamed,      // of the policy file
    kTemporary,  // made by CreateTenant, for as long as a job lasts
  };

  // Everything about a tenant but what it uses.
  struct Options {
    std::string name;
    Kind kind = Kind::kOwn;
    // Names whose generated code its executors share; empty: they share none.
    std::string code_owner;
    v1::Quota quota;
    // Device memory that no other tenant can take, on each of its devices. Kept
    // by DeviceShares; here for people.
    uint64_t reserved_device_bytes = 0;
    uint32_t weight = 1;
    std::vector<uint32_t> devices;  // ordinals; empty: all
    // For sessions that it opens from now on; 0: as the daemon has it.
    absl::Duration kernel_time_limit = absl::ZeroDuration();
    // The part of each device's range that its streams' priorities lie in.
    v1::StreamPriorityClass stream_priorities =
        v1::STREAM_PRIORITY_CLASS_UNSPECIFIED;
    Concurrency concurrency;
    // Who may open its collections until they are configured otherwise.
    v1::Visibility collections;
    // Counts, with others', what its executors do; may be null.
    std::shared_ptr<ExecutionTotals> group = nullptr;
    // The same for what compilers do; may be null.
    std::shared_ptr<CompileBudget> compile_group = nullptr;
  };

  // Has used nothing yet.
  explicit Tenant(const Options& options);
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  const std::string& name() const { return name_; }
  // See CodeCache.
  const std::string& code_owner() const { return code_owner_; }
  Kind kind() const { return kind_; }
  bool temporary() const { return kind_ == Kind::kTemporary; }
  // The values below are as of the last Update; sessions keep those that they
  // were opened with, as said there.
  std::vector<uint32_t> devices() const;
  uint32_t weight() const;
  absl::Duration kernel_time_limit() const;
  v1::StreamPriorityClass stream_priorities() const;
  Concurrency concurrency() const;
  v1::Visibility collections() const;
  v1::Quota quota() const;

  // Takes over everything but the name and kind. Applies to sessions that are
  // open, too, but for devices, stream priorities, concurrency and the kernel
  // time limit.
  // Nothing that is held is taken away. Also charges of compilations keep their
  // places.
  void Update(const Options& options);

  // The same for the quota alone. A limit of 0 is none. Holdings over a new
  // limit stay.
  void SetQuota(const v1::Quota& quota);

  // Returns a session's part in the counts of what its executors hold
  // together; null for a tenant that is its own, which has no quota.
  // RESOURCE_EXHAUSTED: as TenantCounts::TakeSlot.
  absl::StatusOr<std::unique_ptr<TenantCounts::Lease>> TakeSlot();

  // Its sums for the next daemon, and those of the daemon before, which this
  // one goes on from.
  internal::TenantCounters Counters() const;
  void Add(const internal::TenantCounters& counters);

  // Whether device_bytes() is asked for each buffer of its sessions. A tenant
  // that is its own has no quota, so its executors need not ask.
  bool counts_buffers() const { return kind_ != Kind::kOwn; }

  // Bytes of buffers on devices, as asked for; page-locked buffers; arenas.
  // They never change; their limits do, by SetQuota.
  const std::shared_ptr<Quota>& device_bytes() const { return device_bytes_; }
  const std::shared_ptr<Quota>& pinned_bytes() const { return pinned_bytes_; }
  const std::shared_ptr<Quota>& arena_bytes() const { return arena_bytes_; }
  // Bytes of the versions of its collections.
  const std::shared_ptr<Quota>& collection_bytes() const {
    return collection_bytes_;
  }

  // Has the limits on compile_time and compile_requests.
  const std::shared_ptr<CompileBudget>& compile_budget() const {
    return compile_budget_;
  }
  // On each of its devices; 0: nothing is reserved.
  uint64_t reserved_device_bytes() const;

  // The work of the executors of its sessions.
  const ExecutionTotals& execution() const { return *execution_; }
  // Where that is counted. Its own counts, and those of its group if there are
  // any. For ExecutorProcess, which opens a counter page for each executor.
  std::vector<std::shared_ptr<ExecutionTotals>> executions() const;

  // RESOURCE_EXHAUSTED: it has `open` sessions, and may have no more.
  // UNAVAILABLE: it is ending.
  absl::Status CheckMayOpen(uint64_t open) const;

  // From now on it may not open sessions. Cannot be taken back.
  void BeginEnd() { ending_ = true; }
  bool ending() const { return ending_; }

  // Everything but the number of sessions. As of now, in part by the executors'
  // last reports.
  v1::TenantInfo Info() const;

 private:
  const std::string name_;
  const Kind kind_;
  const std::string code_owner_;
  const std::shared_ptr<Quota> device_bytes_;
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
  // Made for its first session.
  std::shared_ptr<TenantCounts> counts_ ABSL_GUARDED_BY(mutex_);
  uint64_t reserved_device_bytes_ ABSL_GUARDED_BY(mutex_);
  uint32_t weight_ ABSL_GUARDED_BY(mutex_);
  absl::Duration kernel_time_limit_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> devices_ ABSL_GUARDED_BY(mutex_);
  v1::StreamPriorityClass stream_priorities_ ABSL_GUARDED_BY(mutex_);
  Concurrency concurrency_ ABSL_GUARDED_BY(mutex_);
  v1::Visibility collections_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_TENANT_H_
