// SPDX-License-Identifier: Apache-2.0
//
// The clock for durations and deadlines. absl::Now() is the machine's wall
// clock, which NTP or a resumed virtual machine may change at any moment.
#ifndef HOLDFAST_CORE_BASE_STEADY_TIME_H_
#define HOLDFAST_CORE_BASE_STEADY_TIME_H_

#include <chrono>

#include "absl/time/time.h"

namespace holdfast {

// Returns the time since the machine was started, as an absl::Time. Compare it
// only with other results of this function. Do not show it, store it in a file,
// send it to another machine, or pass it as a deadline to a wait; pass a
// timeout instead. Thread-safe.
inline absl::Time SteadyNow() {
  return absl::UnixEpoch() +
         absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_STEADY_TIME_H_
