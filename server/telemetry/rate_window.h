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

// Remembers what executors had done at the times when somebody looked, for the
// rates of the last minute. There is no thread that looks by itself.
// Thread-safe.
class RateWindow {
 public:
  static constexpr absl::Duration kWindow = absl::Minutes(1);
  // Looks that come faster are not remembered.
  static constexpr absl::Duration kStep = absl::Seconds(1);

  struct Since {
    ExecutionCounts counts;
    absl::Duration age;
  };

  // Takes note of a look; times must not fall. Returns the oldest look of the
  // last minute, or nullopt if this is the first.
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
