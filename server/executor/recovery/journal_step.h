// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_JOURNAL_STEP_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_JOURNAL_STEP_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "google/protobuf/arena.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// Does the command make, change or end a resource?
bool IsJournaled(const v1::Command& command);

// Returns the handle that the command ends, or 0.
uint64_t EndedBy(const v1::Command& command);

// Visits the steps that the journal has of a command that was carried out:
// mostly one; an update of several nodes of a graph has one for each, which a
// later one replaces, unless `one_step` (update_sets.h). A resource that no
// successor could make again is a step with the reason (`error`). A step is
// made in `arena`, refers to `command` and is valid during its visit.
// REQUIRES: IsJournaled(command).
void VisitSteps(
    const v1::Command& command, Resources& resources, bool one_step,
    google::protobuf::Arena& arena,
    absl::FunctionRef<void(const internal::JournalRecord& step)> visit);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_JOURNAL_STEP_H_
