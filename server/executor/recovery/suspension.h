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

// Checks that a suspension loses no resource. `memory_stays`: the session's
// memory stays on its devices. FAILED_PRECONDITION: a resource cannot be
// restored, or it belongs to another session while `memory_stays` is false. The
// error names the first such resource.
absl::Status CheckSuspendable(Resources& resources, bool memory_stays);

// Makes any thread call `idle` when the present work of all devices of the
// session is done, with the work's error if it failed. Does not block. If
// WhenIdle returns an error, `idle` is not called.
absl::Status WhenIdle(Resources& resources,
                      std::function<void(const absl::Status&)> idle);

// Returns a sentence, for errors, about the work that is not done.
std::string DescribeWork(SemaphoreWaits& waits);

// Copies the existing chunks to their offsets in `file`, which is borrowed, and
// blocks until they are copied. REQUIRES: the devices are idle.
absl::Status SaveChunks(Resources& resources,
                        const internal::SaveMemory& chunks, int file);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_SUSPENSION_H_
