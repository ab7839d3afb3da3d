// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_PROCESS_TIME_H_
#define HOLDFAST_CLIENT_BENCH_PROCESS_TIME_H_

#include <sys/types.h>

#include "absl/status/statusor.h"

namespace holdfast::bench {

struct ProcessTime {
  pid_t parent = 0;
  // The time of all its threads, in the program and the kernel, to about 10 ms.
  double cpu_milliseconds = 0;
};

// NOT_FOUND: no such process here.
absl::StatusOr<ProcessTime> ReadProcessTime(pid_t pid);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_PROCESS_TIME_H_
