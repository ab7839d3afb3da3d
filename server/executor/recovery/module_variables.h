// SPDX-License-Identifier: Apache-2.0
//
// The variables of a session's modules. They are not in chunks, so they end
// with the executor's context. If the session is suspended or parked, the next
// executor gets the values. All functions belong to the submission thread.
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

// Returns a sealed memfd with the values as SavedVariables; an empty UniqueFd
// if there are no variables. Leaves out variables that the driver does not find
// by name. Blocks until the values are copied. FAILED_PRECONDITION: the values
// exceed the bounds in server/journal/saved_variables.h. REQUIRES: the devices
// are idle.
absl::StatusOr<UniqueFd> SaveVariables(Resources& resources);

// Reads the memfd of SaveVariables, which is borrowed. INVALID_ARGUMENT: it is
// malformed.
absl::StatusOr<internal::SavedVariables> ReadVariables(int memory);

// Restores the values of the variables of all modules that were loaded again.
// Calls `failed` for each variable that does not get its value, with its module
// and the reason. If `failed` puts the module in error, the module's other
// variables are skipped.
void RestoreVariables(
    Resources& resources, const internal::SavedVariables& variables,
    absl::FunctionRef<void(uint64_t module, const absl::Status& why)> failed);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_MODULE_VARIABLES_H_
