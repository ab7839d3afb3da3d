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

// The faults that a session may have: `burst` at once, and one more after each
// `pause`. A burst of 0 is no limit.
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
  // `now` must not go back.
  absl::Status Note(absl::Time now);

  // All faults of the session, including the refused ones.
  uint32_t count() const { return count_; }

 private:
  const FaultLimits limits_;
  uint32_t count_ = 0;
  double recent_ = 0;  // the faults in the bucket
  absl::Time last_ = absl::InfinitePast();
};

// The supervisor's knowledge of the death of an executor.
struct ExecutorDeath {
  uint64_t epoch = 0;
  absl::Time time;
  absl::Status reason;  // how the process ended
  // Its own report; nullopt: none. Hostile input.
  std::optional<internal::Fault> fault;
  absl::StatusOr<journal::Progress> progress;
};

// Makes the report that clients see. Texts from the executor are cut: the
// message of its cause to 4096 bytes, names to 256.
v1::FaultReport MakeFaultReport(const ExecutorDeath& death);

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_FAULT_HISTORY_H_
