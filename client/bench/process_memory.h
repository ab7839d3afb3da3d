// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_BENCH_PROCESS_MEMORY_H_
#define HOLDFAST_CLIENT_BENCH_PROCESS_MEMORY_H_

#include <string>

#include "absl/status/statusor.h"

namespace holdfast::bench {

// Memory of the host that a process alone has written to, in MiB. `pid` is a
// number or "self"; NOT_FOUND: no such process here, or another user's.
absl::StatusOr<double> PrivateMemoryMiB(const std::string& pid);

}  // namespace holdfast::bench

#endif  // HOLDFAST_CLIENT_BENCH_PROCESS_MEMORY_H_
