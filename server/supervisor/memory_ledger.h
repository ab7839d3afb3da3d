// SPDX-License-Identifier: Apache-2.0
//
// What executors have been granted of the memory that sessions take from each
// other: of each device, and of the host. An executor asks before it takes any
// (internal.Reserve), all or nothing, and what it was granted counts until it
// is released or the process has ended.
//
// The sums hold as long as executors ask. One that its client's kernel has
// taken over could take host memory without asking; then the limits of its
// process and of the daemon's control group are what bounds it. It cannot be
// granted more than its own session may hold.
#ifndef HOLDFAST_SERVER_SUPERVISOR_MEMORY_LEDGER_H_
#define HOLDFAST_SERVER_SUPERVISOR_MEMORY_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/executor/quota.h"

namespace holdfast {

// All sessions together. Thread-safe.
class MemoryLedger {
 public:
  // Bytes that all sessions may have of the host's memory; 0: no limit.
  explicit MemoryLedger(uint64_t host_bytes);
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  // Adds the devices that are not known yet, each with its total memory as the
  // limit. REQUIRES: said by an executor that no client has had yet.
  void AddDevices(const internal::Ready& ready);
  size_t device_count() const;

  // NOT_FOUND: there is no such device.
  absl::StatusOr<std::shared_ptr<Quota>> Find(
      const internal::MemoryPlace& place) const;

  void Report(v1::MemoryTotals* totals) const;

 private:
  const std::shared_ptr<Quota> host_;
  mutable absl::Mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Quota>> devices_ ABSL_GUARDED_BY(mutex_);
};

// What one executor has been granted, within what its session may hold. Given
// back when it ends. Not thread-safe.
class MemoryGrants {
 public:
  // `ledger` must outlive it.
  explicit MemoryGrants(const MemoryLedger& ledger) : ledger_(ledger) {}

  // From now on memory is granted: for a session on `devices` devices, 0 for
  // all. Chunks may take twice the bytes that the session may ask for, and
  // 64 MiB a device, for rounding and for what is freed but still in use.
  void Open(const internal::AccountLimits& limits, size_t devices);

  // RESOURCE_EXHAUSTED: over the session's part or the sum;
  // FAILED_PRECONDITION: not between Open and Close.
  absl::Status Reserve(const internal::MemoryPlace& place, uint64_t bytes);
  // INVALID_ARGUMENT: not that much was granted. Does nothing after Close.
  absl::Status Release(const internal::MemoryPlace& place, uint64_t bytes);

  // Gives everything back; nothing is granted any more.
  void Close();

  // Of all devices.
  void ReportReserved(v1::QuotaUsage* usage) const;

 private:
  // Of one place.
  struct Granted {
    Charge of_session;
    Charge of_all;
  };

  const MemoryLedger& ledger_;
  std::shared_ptr<Quota> devices_;  // null: not open
  std::shared_ptr<Quota> host_;
  std::map<const Quota*, Granted> granted_;  // by the ledger's quota
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SUPERVISOR_MEMORY_LEDGER_H_
