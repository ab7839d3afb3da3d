// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_FILL_OPERANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_FILL_OPERANDS_H_

#include "absl/status/statusor.h"
#include "core/cuda/box.h"
#include "cuda.h"
#include "holdfast/v1/buffer_commands.pb.h"
#include "server/executor/command/fill_pattern.h"
#include "server/executor/command/operand_scope.h"

namespace holdfast::executor {

// The operands of a fill for CUDA, on a stream or in a graph.
struct FillOperands {
  cuda::Box box;  // height 1 if contiguous; may be empty
  cuda::Pitches pitches;
  CUdeviceptr address = 0;
  FillPattern pattern;
};

// Look up the operands of the message, without its stream. INVALID_ARGUMENT: an
// invalid pattern, an offset that is not aligned to it, or a slice pitch.
// Otherwise fail as ResolveRange or ResolveBox.
absl::StatusOr<FillOperands> ResolveFill(const OperandScope& scope,
                                         const v1::FillBuffer& fill);
absl::StatusOr<FillOperands> ResolveFill(const OperandScope& scope,
                                         const v1::FillRect& fill);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_FILL_OPERANDS_H_
