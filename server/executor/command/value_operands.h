// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_VALUE_OPERANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_VALUE_OPERANDS_H_

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "cuda.h"
#include "holdfast/v1/buffer_commands.pb.h"
#include "server/executor/command/operand_scope.h"

namespace holdfast::executor {

// A batch of writes and waits in CUDA's form.
struct ValueOperands {
  std::vector<CUstreamBatchMemOpParams> operations;
  // The value of the first wait, if any.
  std::optional<AwaitedValue> awaited;
};

// Looks up the memory of a batch, and keeps it alive if the scope belongs to a
// graph. INVALID_ARGUMENT: there are more than 256 operations, a kind does not
// exist, or a value is misaligned. Otherwise fails as ResolveCopyOperand and
// CheckPeerAccess.
absl::StatusOr<ValueOperands> ResolveValues(const OperandScope& scope,
                                            const v1::ValueBatch& batch);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_VALUE_OPERANDS_H_
