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

// The form of the steps for an update of several nodes of a graph. Every other
// command has one step.
enum class StepForm {
  // One step for each node. A later step for the node replaces it.
  kOneEach,
  // One step for the whole command; update_sets.h says when.
  kOne,
  // One step without the command; the caller adds the encoded command.
  kOneWithoutCommand,
};

// Visits the journal's steps for a command that was carried out. A resource
// that a successor cannot make again has a step with the reason (`error`). A
// step is made in `arena`, refers to `command` and is valid during its visit.
// REQUIRES: the command has an effect (command_facts.h); kOneWithoutCommand: it
// makes or updates a graph.
void VisitSteps(
    const v1::Command& command, Resources& resources, StepForm form,
    google::protobuf::Arena& arena,
    absl::FunctionRef<void(const internal::JournalRecord& step)> visit);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_JOURNAL_JOURNAL_STEP_H_
