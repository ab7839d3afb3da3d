// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_START_THREAD_H_
#define HOLDFAST_CORE_BASE_START_THREAD_H_

#include <functional>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// Starts a thread that runs `run`. A process uses it for each thread that a
// client causes to be made: std::thread throws when the system refuses one,
// which would end the process. RESOURCE_EXHAUSTED: the system allows no more
// threads; the message names `purpose`, as in "no thread for the stream".
absl::StatusOr<std::thread> StartThread(absl::string_view purpose,
                                        std::function<void()> run);

// Runs all jobs side by side, each in a thread of its own, and returns when
// they have ended. A job that the system allows no thread for runs in the
// calling thread, when all others have begun.
void RunSideBySide(std::vector<std::function<void()>> jobs);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_START_THREAD_H_
