// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_PARALLEL_JOBS_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_PARALLEL_JOBS_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace holdfast::cli {

// Each thread holds up to 32 MiB of host memory for the bytes that it reads.
inline constexpr size_t kMaxJobThreads = 16;

// Calls `job` once with every number below `count`, in several threads at once:
// one for every two processors, up to kMaxJobThreads, since each copy has
// threads of its own and the executor needs some, too. Jobs begin in rising
// order. A single thread reads files and hashes at 2 GB/s, a fraction of what a
// disk or a device's bus moves.
//
// Blocks until all jobs have ended. After an error no more begin; returns that
// of the lowest number.
absl::Status RunJobs(size_t count,
                     const std::function<absl::Status(size_t number)>& job);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_PARALLEL_JOBS_H_
