// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_RATE_WINDOW_H_
#define HOLDFAST_SERVER_TELEMETRY_RATE_WINDOW_H_

#include <deque>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/counters/execution_totals.h"

namespace holdfast {

// Remembers the executors' counts at the times of earlier requests, for the
// rates of the last minute. Has no thread. Thread-safe.
class RateWindow {
 public:
  static constexpr absl::Duration kWindow = absl::Minutes(1);
  // The least time between two remembered counts.
  static constexpr absl::Duration kStep = absl::Seconds(1);

  struct Since {
    ExecutionCounts counts;
    absl::Duration age;
  };

  // Returns the oldest remembered counts of the last minute; nullopt if there
  // are none before `now`. Then remembers `counts`, unless the newest
  // remembered counts are younger than kStep. REQUIRES: times do not decrease.
  std::optional<Since> Look(const ExecutionCounts& counts, absl::Time now);

 private:
  struct Seen {
    absl::Time time;
    ExecutionCounts counts;
  };

  absl::Mutex mutex_;
  std::deque<Seen> seen_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_RATE_WINDOW_H_
