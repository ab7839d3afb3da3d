// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_JOURNAL_JOURNAL_STEP_H_
#define HOLDFAST_SERVER_EXECUTOR_JOURNAL_JOURNAL_STEP_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "google/protobuf/arena.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/commands.pb.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// A step is a record of the session's journal with a command that a successor
// of this process carries out again. The form says how an update of several
// nodes of a graph becomes steps. Every other command has one step.
enum class StepForm {
  // One step for each node. A later step for the node replaces it.
  kOneEach,
  // One step for the whole command; see update_sets.h.
  kOne,
  // One step without the command. The caller adds the encoded command.
  kOneWithoutCommand,
};

// Calls `visit` with each of the journal's steps for a command that was carried
// out. If a successor cannot make a resource again, its step has the reason
// (`error`). A step is made in `arena`, refers to `command`, and is valid
// during its visit. REQUIRES: the command has an effect (command_facts.h); with
// kOneWithoutCommand, it makes or updates a graph.
void VisitSteps(
    const v1::Command& command, Resources& resources, StepForm form,
    google::protobuf::Arena& arena,
    absl::FunctionRef<void(const internal::JournalRecord& step)> visit);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_JOURNAL_JOURNAL_STEP_H_
