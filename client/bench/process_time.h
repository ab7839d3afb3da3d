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

// Returns the parent and the CPU time of a process, from /proc. NOT_FOUND:
// there is no such process.
absl::StatusOr<ProcessTime> ReadProcessTime(pid_t pid);
// Returns the process id of an executor's daemon: the parent of the executor's
// parent, which is the daemon's spawner. NOT_FOUND: there is no such process.
absl::StatusOr<pid_t> DaemonOf(pid_t executor);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_PROCESS_TIME_H_
