// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_PROCESS_TIME_H_
#define HOLDFAST_CLIENT_BENCH_PROCESS_TIME_H_

#include <sys/types.h>

#include "absl/status/statusor.h"

namespace holdfast::bench {

struct ProcessTime {
  pid_t parent = 0;
  // User and system time of all threads, with a resolution of about 10 ms.
  double cpu_milliseconds = 0;
};

// Both read /proc. NOT_FOUND: there is no such process.
absl::StatusOr<ProcessTime> ReadProcessTime(pid_t pid);
// Returns the daemon of an executor, which is a child of the daemon's spawner.
absl::StatusOr<pid_t> DaemonOf(pid_t executor);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_PROCESS_TIME_H_
