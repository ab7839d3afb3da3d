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

// The part of the compilers that a tenant may use: the time that they work for
// it within any hour, and the requests of it that wait for one or run.
// Programs that are found in the cache cost nothing. Thread-safe.
//
// A compilation goes as follows:
//
//   HOLDFAST_ASSIGN_OR_RETURN(Charge place, budget.Begin(absl::Now()));
//   // ... waits for a compiler and runs it
//   budget.AddTime(worked, absl::Now());
//
// Time is counted by minutes, so that the hour moves in steps of one minute.
class CompileBudget {
 public:
  // Zero: no limit.
  struct Limits {
    absl::Duration time_per_hour = absl::ZeroDuration();
    uint64_t requests = 0;
  };

  // `group` counts the time of several tenants as well; may be null.
  CompileBudget(const std::string& tenant, const Limits& limits,
                std::shared_ptr<CompileBudget> group = nullptr);

  // Requests that run go on, whatever the new limits.
  void SetLimits(const Limits& limits);

  // Takes a place for a request until the charge ends. RESOURCE_EXHAUSTED names
  // the quota, its limit and use: the places are taken, or the time of the last
  // hour is used up. The time of the request itself is not known yet, so that
  // one that begins in time may exceed the limit by its own time.
  absl::StatusOr<Charge> Begin(absl::Time now);

  // A compiler has worked for the tenant, with success or without. Counted for
  // the group as well.
  void AddTime(absl::Duration time, absl::Time now);

  // The times for the next daemon, and those of the daemon before, which this
  // one goes on from. Not those of the group, which has its own.
  void Record(internal::TenantCounters* counters) const;
  // Adds to what this daemon has counted already; minutes that are too old are
  // dropped.
  void Add(const internal::TenantCounters& counters);

  // The time within the hour before `now`, and ever.
  absl::Duration TimeOfLastHour(absl::Time now) const;
  absl::Duration total_time() const;
  // Requests that wait or run.
  uint64_t requests() const { return requests_->used(); }

 private:
  // A minute, counted from the epoch, and the time that is charged to it.
  struct Minute {
    int64_t number = 0;
    absl::Duration time = absl::ZeroDuration();
  };
  static constexpr size_t kMinutes = 60;

  // Sums the last 60 minutes, the one of `now` included.
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
