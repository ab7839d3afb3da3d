// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_LAUNCH_ATTRIBUTES_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_LAUNCH_ATTRIBUTES_H_

#include "absl/status/status.h"
#include "core/cuda/context.h"
#include "core/cuda/launch.h"
#include "holdfast/v1/launch.pb.h"
#include "server/executor/command/operand_scope.h"

namespace holdfast::executor {

cuda::Dim3 ToDim3(const v1::Dim3& dim);

// Adds one attribute to those that are set. INVALID_ARGUMENT: it, or its value,
// is unknown.
absl::Status SetAttribute(const OperandScope& scope,
                          const v1::LaunchAttribute& attribute,
                          cuda::LaunchAttributes* attributes);

// INVALID_ARGUMENT: a number that the device would take for another, or take
// without a word.
absl::Status CheckAttributeRanges(const cuda::LaunchAttributes& attributes,
                                  const cuda::Context& context);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_LAUNCH_ATTRIBUTES_H_
