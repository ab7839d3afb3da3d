// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_PROCESS_WAITS_H_
#define HOLDFAST_CLIENT_BENCH_PROCESS_WAITS_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/statusor.h"

namespace holdfast::bench {

// Returns how often the present threads of a process have gone to sleep so far:
// their voluntary context switches. Each such switch is followed by a wake-up.
// NOT_FOUND: there is no such process.
absl::StatusOr<uint64_t> CountWaits(pid_t pid);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_PROCESS_WAITS_H_
