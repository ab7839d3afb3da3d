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

// The operands of a fill in CUDA's form, for a stream or a graph.
struct FillOperands {
  cuda::Box box;  // of height 1 for contiguous bytes; may be empty
  cuda::Pitches pitches;
  CUdeviceptr address = 0;
  FillPattern pattern;
};

// Look up the operands of the message, except its stream. If the scope belongs
// to a graph's node, the graph keeps their memory. INVALID_ARGUMENT: there is
// no pattern, the offset is not a multiple of the pattern's size, or there is a
// slice pitch. Otherwise fail as ResolveRange or ResolveBox.
absl::StatusOr<FillOperands> ResolveFill(const OperandScope& scope,
                                         const v1::FillBuffer& fill);
absl::StatusOr<FillOperands> ResolveFill(const OperandScope& scope,
                                         const v1::FillRect& fill);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_FILL_OPERANDS_H_
