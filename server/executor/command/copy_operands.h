// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_COPY_OPERANDS_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_COPY_OPERANDS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/cuda/box.h"
#include "holdfast/v1/buffer_commands.pb.h"
#include "server/executor/command/copy_operand.h"
#include "server/executor/command/operand_scope.h"

namespace holdfast::executor {

// A copy without gaps.
struct CopyOperands {
  CopyOperand destination;
  CopyOperand source;
  uint64_t size = 0;  // bytes; may be 0
};

// One side of a copy of boxes.
struct BoxOperand {
  CopyOperand place;
  cuda::Pitches pitches;
};
// Both sides have the same box, each with its own pitches.
struct BoxCopyOperands {
  cuda::Box box;
  BoxOperand destination;
  BoxOperand source;
};

// Look up the operands of the message, without its stream. The scope of a
// graph's node keeps their memory. INVALID_ARGUMENT: the ranges overlap.
// PERMISSION_DENIED: the destination was imported for reading. OUT_OF_RANGE: a
// range is beyond the end of its buffer.
absl::StatusOr<CopyOperands> ResolveCopy(const OperandScope& scope,
                                         const v1::CopyBuffer& copy);
absl::StatusOr<CopyOperands> ResolveCopy(const OperandScope& scope,
                                         const v1::BatchedCopy& copy);
absl::StatusOr<BoxCopyOperands> ResolveCopy(const OperandScope& scope,
                                            const v1::CopyRect& copy);

// Completes the pitches and checks the range for `access`. INVALID_ARGUMENT: a
// box without bytes, or pitches that do not fit it.
absl::StatusOr<BoxOperand> ResolveBox(const OperandScope& scope,
                                      const cuda::Box& box,
                                      const v1::PitchedRange& range,
                                      Access access);

// Returns the context of the memory `place`. Host memory belongs to no device:
// returns the context of the copy's other side, or of `fallback`. Opens the
// device if it is not open.
absl::StatusOr<const cuda::Context*> ContextOf(Resources& resources,
                                               const CopyOperand& place,
                                               const CopyOperand& other,
                                               const cuda::Context& fallback);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_COPY_OPERANDS_H_
