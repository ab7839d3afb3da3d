// SPDX-License-Identifier: Apache-2.0
//
// The executor's part of suspending a session. Everything here belongs to the
// submission thread.
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_SUSPENSION_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_SUSPENSION_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "holdfast/internal/executor.pb.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// FAILED_PRECONDITION names a resource whose bytes would not come back with the
// session, or are of somebody else, unless the memory stays where it is.
absl::Status CheckSuspendable(Resources& resources, bool memory_stays);

// Calls `idle`, by any thread, when every device of the session has done all
// that it was given so far.
absl::Status WhenIdle(Resources& resources,
                      std::function<void(const absl::Status&)> idle);

// A sentence about the work that keeps the devices.
std::string DescribeWork(SemaphoreWaits& waits);

// Copies the chunks that are still there to their places in the file. REQUIRES:
// the devices are idle.
absl::Status SaveChunks(Resources& resources,
                        const internal::SaveMemory& chunks, int file);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_SUSPENSION_H_
