// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_WORK_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_WORK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/unique_fd.h"
#include "server/counters/execution_totals.h"
#include "server/supervisor/share_pacer.h"
#include "server/tenants/tenant.h"

namespace holdfast::supervisor {

// The work of one executor for its session. Adds the executor's counts to the
// sums of the daemon, the tenant and the session, and gives the executor its
// turns at busy devices. Not thread-safe.
class ExecutorWork {
 public:
  // `totals` and `pacer` must outlive this object.
  ExecutorWork(ExecutionTotals& totals, SharePacer& pacer)
      : totals_(totals), pacer_(pacer) {}

  // Sets the session's tenant, and the session's own sums, which may be null.
  void Assign(std::shared_ptr<const Tenant> tenant,
              std::shared_ptr<ExecutionTotals> session);
  // Begins to count, when the executor serves on `devices`. `counters` is the
  // page in which the executor counts its work. If it is not a valid page,
  // nothing is counted. REQUIRES: Assign was called.
  void Open(const UniqueFd& counters, const std::vector<uint32_t>& devices);
  // Notes that the executor has ended. `lost`: it has ended unexpectedly while
  // it served a session.
  void End(bool lost);

 private:
  ExecutionTotals& totals_;
  SharePacer& pacer_;
  std::shared_ptr<const Tenant> tenant_;
  std::vector<std::shared_ptr<ExecutionTotals>> sums_;  // besides totals_
  std::unique_ptr<ExecutionTotals::Page> counts_;
  std::unique_ptr<SharePacer::Member> turns_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_WORK_H_
