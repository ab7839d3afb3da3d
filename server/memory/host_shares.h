// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_MEMORY_HOST_SHARES_H_
#define HOLDFAST_SERVER_MEMORY_HOST_SHARES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/account/quota.h"

namespace holdfast {

// Divides the daemon's host memory among the tenants that have no quota of host
// memory. Such a tenant may take an amount if its new total is at most the
// amount that was free before. One tenant alone therefore gets half of
// --host-memory, and others always find room. FairShare (server/rpc) has the
// same rule for a capacity that does not change and that nothing else takes
// from.
//
// An amount that a quota of the tenant limits is not refused here, but counts
// in the tenant's total. Thread-safe.
class HostShares {
 public:
  // `host` counts the host memory of all sessions. While it has no limit,
  // nothing is refused: a daemon that takes over the sessions of an earlier one
  // lifts the limit (LiftedLimits).
  explicit HostShares(std::shared_ptr<const Quota> host)
      : host_(std::move(host)) {}

  // Charges a tenant. REQUIRES: the amount is charged to `host` already. `own`
  // is the tenant's quota of this memory. RESOURCE_EXHAUSTED: `own` has no
  // limit, and the amount is over the tenant's share; the message names the
  // amounts held, asked for and free, also as a QuotaExceeded.
  absl::Status Take(const std::string& tenant, const Quota& own,
                    uint64_t bytes);
  // REQUIRES: these bytes were taken.
  void Return(const std::string& tenant, uint64_t bytes);

 private:
  const std::shared_ptr<const Quota> host_;
  absl::Mutex mutex_;
  // Tenants that hold nothing have no entry.
  std::map<std::string, uint64_t> held_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_MEMORY_HOST_SHARES_H_
