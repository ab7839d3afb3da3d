// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_PARALLEL_JOBS_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_PARALLEL_JOBS_H_

#include <cstddef>
#include <functional>

#include "absl/status/status.h"

namespace holdfast::cli {

// Each thread holds up to 32 MiB of host memory for the bytes that it reads.
inline constexpr size_t kMaxJobThreads = 16;

// Calls `job` once with every number below `count`, in rising order, in several
// threads: a single thread reads and hashes files at 2 GB/s, which is slower
// than a disk or a device's bus. Uses one thread for every two processors, up
// to kMaxJobThreads, because copies and the executor need threads, too.
//
// Blocks until all jobs have ended. After an error no further job begins.
// Returns the error of the lowest number.
absl::Status RunJobs(size_t count,
                     const std::function<absl::Status(size_t number)>& job);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_PARALLEL_JOBS_H_
