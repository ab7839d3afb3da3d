// SPDX-License-Identifier: Apache-2.0
//
// The variables of a session's modules, which lie in no chunk: they end with
// the executor's context. If it ends in order, its successor gets their
// values. Everything here belongs to the submission thread.
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_MODULE_VARIABLES_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_MODULE_VARIABLES_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/executor.pb.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

// Returns the values as SavedVariables in a sealed memfd; none: there are no
// variables. Variables that the driver does not find by name are left out.
// REQUIRES: the devices are idle. FAILED_PRECONDITION: more than the bounds in
// server/journal/saved_variables.h.
absl::StatusOr<UniqueFd> SaveVariables(Resources& resources);

// INVALID_ARGUMENT: the memfd is not as SaveVariables makes it.
absl::StatusOr<internal::SavedVariables> ReadVariables(int memory);

// Gives the variables of the modules that are loaded again their values; those
// of other modules are lost with them. Calls `failed` with a module of which a
// variable does not get its value, and why; if it puts the module in error, it
// is not called for that one again.
void RestoreVariables(
    Resources& resources, const internal::SavedVariables& variables,
    absl::FunctionRef<void(uint64_t module, const absl::Status& why)> failed);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_MODULE_VARIABLES_H_
