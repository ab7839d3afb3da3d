// SPDX-License-Identifier: Apache-2.0
//
// Time for durations: how long something has taken, and when something is due.
// absl::Now() is the machine's wall clock, which NTP or a resumed virtual
// machine may set back or forward at any moment.
#ifndef HOLDFAST_CORE_BASE_STEADY_TIME_H_
#define HOLDFAST_CORE_BASE_STEADY_TIME_H_

#include <chrono>

#include "absl/time/time.h"

namespace holdfast {

// Returns the time since the machine was started, as an absl::Time. Only to be
// compared with other results of this function: never shown, kept in a file,
// sent to another machine, or given to a wait that takes a deadline; such a
// wait takes a timeout instead. Thread-safe.
inline absl::Time SteadyNow() {
  return absl::UnixEpoch() +
         absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_STEADY_TIME_H_
