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

// FAILED_PRECONDITION names a resource that would be lost: its bytes cannot be
// restored, or, unless `memory_stays`, belong to another owner.
absl::Status CheckSuspendable(Resources& resources, bool memory_stays);

// Calls `idle`, on any thread, when the present work of all devices of the
// session is done.
absl::Status WhenIdle(Resources& resources,
                      std::function<void(const absl::Status&)> idle);

// Returns a sentence about the work that is not done.
std::string DescribeWork(SemaphoreWaits& waits);

// Copies the existing chunks to their offsets in the file. REQUIRES: the
// devices are idle.
absl::Status SaveChunks(Resources& resources,
                        const internal::SaveMemory& chunks, int file);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_SUSPENSION_H_
