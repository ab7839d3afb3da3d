// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_JOURNAL_STEP_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_JOURNAL_STEP_H_

#include <vector>

#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/resources.h"

namespace holdfast::executor {

// Does the command make, change or end a resource?
bool IsJournaled(const v1::Command& command);

// Returns the steps that the journal has of a command that was carried out:
// mostly one; an update of several nodes of a graph has one for each, since a
// later one replaces it. A resource that no successor could make again is a
// step with the reason (`error`). REQUIRES: IsJournaled(command).
std::vector<internal::JournalRecord> StepsOf(const v1::Command& command,
                                             Resources& resources);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_JOURNAL_STEP_H_
