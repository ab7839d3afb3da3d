// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_FAULT_HISTORY_H_
#define HOLDFAST_SERVER_SUPERVISOR_FAULT_HISTORY_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/faults.pb.h"
#include "server/journal/journal_reader.h"

namespace holdfast::supervisor {

// The number of faults that a session may have: `burst` at once, and one more
// after each `pause`. A burst of 0 means no limit.
//
// The defaults let a session fault 16 times at once, then once every 10 s.
struct FaultLimits {
  uint32_t burst = 16;
  absl::Duration pause = absl::Seconds(10);
};

// The faults of one session. Not thread-safe.
//
// A leaky bucket: each fault adds one, and each `pause` removes one.
class FaultHistory {
 public:
  explicit FaultHistory(const FaultLimits& limits) : limits_(limits) {}

  // Counts a fault. RESOURCE_EXHAUSTED: the session has faulted too often, and
  // must be stopped. The message names the limits and the flag that sets them.
  // REQUIRES: `now` does not decrease from call to call.
  absl::Status Note(absl::Time now);

  // Returns the number of all faults of the session, including those for which
  // Note has failed.
  uint32_t count() const { return count_; }

 private:
  const FaultLimits limits_;
  uint32_t count_ = 0;
  double recent_ = 0;  // the faults in the bucket
  absl::Time last_ = absl::InfinitePast();
};

// The facts that the supervisor has about the death of an executor.
struct ExecutorDeath {
  uint64_t epoch = 0;
  absl::Time time;
  absl::Status reason;  // how the process ended
  // The executor's own report; nullopt: it has sent none. Hostile input.
  std::optional<internal::Fault> fault;
  absl::StatusOr<journal::Progress> progress;
};

// Returns the report that clients see. Cuts texts from the executor: the
// message of the cause to 4096 bytes, names to 256 bytes.
v1::FaultReport MakeFaultReport(const ExecutorDeath& death);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_FAULT_HISTORY_H_
