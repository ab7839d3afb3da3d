// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_START_THREAD_H_
#define HOLDFAST_CORE_BASE_START_THREAD_H_

#include <functional>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// Starts a thread that runs `run`. A process uses this function for each thread
// that it starts because of a client: if the system refuses a thread,
// std::thread throws, which would end the process. RESOURCE_EXHAUSTED: the
// system allows no more threads; the message names `purpose`, as in "no thread
// for the stream".
absl::StatusOr<std::thread> StartThread(absl::string_view purpose,
                                        std::function<void()> run);

// Runs all jobs at the same time, and returns when all jobs have ended. The
// first job runs on the calling thread, after all other jobs have begun, and
// each other job on a thread of its own. If the system refuses a thread for a
// job, the calling thread runs this job after the first one, so jobs must not
// rely on running at the same time.
void RunSideBySide(std::vector<std::function<void()>> jobs);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_START_THREAD_H_
