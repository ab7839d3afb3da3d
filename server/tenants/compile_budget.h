// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TENANTS_COMPILE_BUDGET_H_
#define HOLDFAST_SERVER_TENANTS_COMPILE_BUDGET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "holdfast/internal/restart.pb.h"
#include "server/account/quota.h"

namespace holdfast {

// A tenant's limits for the use of compilers: their working time within any
// hour, and the number of the tenant's requests that wait or run. Cached
// programs do not count. Thread-safe.
//
// Use:
//
//   HOLDFAST_ASSIGN_OR_RETURN(Charge place, budget.Begin(absl::Now()));
//   // ... waits for a compiler and runs it
//   budget.AddTime(worked, absl::Now());
//
// Time is counted for each minute, so the hour moves in steps of one minute.
class CompileBudget {
 public:
  // Zero: no limit.
  struct Limits {
    absl::Duration time_per_hour = absl::ZeroDuration();
    uint64_t requests = 0;
  };

  // `tenant` is for messages. `group` counts the time of several tenants
  // together; may be null.
  CompileBudget(const std::string& tenant, const Limits& limits,
                std::shared_ptr<CompileBudget> group = nullptr);

  // Replaces the limits. Running requests continue.
  void SetLimits(const Limits& limits);

  // Takes a place for a request until the charge ends. A request that begins
  // within the limit may exceed it by its own time, which is not known yet.
  // RESOURCE_EXHAUSTED: all places are taken, or the time of the last hour is
  // used up; the message names the quota, its limit and its use.
  absl::StatusOr<Charge> Begin(absl::Time now);

  // Adds the working time of a compiler, successful or not. Adds it to the
  // group, too.
  void AddTime(absl::Duration time, absl::Time now);

  // Writes the times to `counters`, for the next daemon, without the group's
  // times.
  void Record(internal::TenantCounters* counters) const;
  // Adds the times of the earlier daemon, except for minutes that are too old.
  void Add(const internal::TenantCounters& counters);

  // Return the time within the hour before `now`, and the total time.
  absl::Duration TimeOfLastHour(absl::Time now) const;
  absl::Duration total_time() const;
  // Returns the number of requests that wait or run.
  uint64_t requests() const { return requests_->used(); }

 private:
  // A minute, counted from the epoch, and the time that is charged to it.
  struct Minute {
    int64_t number = 0;
    absl::Duration time = absl::ZeroDuration();
  };
  static constexpr size_t kMinutes = 60;

  // Returns the sum of the last 60 minutes, including the minute of `now`.
  absl::Duration SumAt(absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string tenant_;
  const std::shared_ptr<Quota> requests_;
  const std::shared_ptr<CompileBudget> group_;
  mutable absl::Mutex mutex_;
  absl::Duration limit_ ABSL_GUARDED_BY(mutex_);
  absl::Duration total_ ABSL_GUARDED_BY(mutex_) = absl::ZeroDuration();
  // Minute n is at index n modulo kMinutes.
  std::array<Minute, kMinutes> minutes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_COMPILE_BUDGET_H_
