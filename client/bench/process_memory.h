// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_PROCESS_MEMORY_H_
#define HOLDFAST_CLIENT_BENCH_PROCESS_MEMORY_H_

#include <string>

#include "absl/status/statusor.h"

namespace holdfast::bench {

// Returns the host memory that a process has written and shares with no other
// process, in MiB. `pid` is a number or "self". NOT_FOUND: there is no such
// process, or it belongs to another user.
absl::StatusOr<double> PrivateMemoryMiB(const std::string& pid);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_PROCESS_MEMORY_H_
