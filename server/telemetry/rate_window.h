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

// Stores the executors' counts at the times of earlier requests, for the rates
// of the last minute. Has no thread of its own. Thread-safe.
class RateWindow {
 public:
  static constexpr absl::Duration kWindow = absl::Minutes(1);
  // The least time between two remembered counts.
  static constexpr absl::Duration kStep = absl::Seconds(1);

  struct Since {
    ExecutionCounts counts;
    absl::Duration age;
  };

  // Returns the oldest stored counts of the last minute, with their age;
  // nullopt if there are none before `now`. Then stores `counts`, unless the
  // newest stored counts are younger than kStep. REQUIRES: `now` does not
  // decrease from call to call.
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
