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

// Adds one attribute to `attributes`. INVALID_ARGUMENT: the attribute or its
// value is unknown. OUT_OF_RANGE: a memory synchronisation domain over 255.
// Otherwise fails as the look-up of its event or buffer.
absl::Status SetAttribute(const OperandScope& scope,
                          const v1::LaunchAttribute& attribute,
                          cuda::LaunchAttributes* attributes);

// Checks values that the driver would clamp or accept silently.
// INVALID_ARGUMENT: a priority is outside the range of the context's device, or
// a carveout is over 100 percent.
absl::Status CheckAttributeRanges(const cuda::LaunchAttributes& attributes,
                                  const cuda::Context& context);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_LAUNCH_ATTRIBUTES_H_
