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
// A copy of a box of bytes. Both sides have the same box, each with its own
// pitches.
struct BoxCopyOperands {
  cuda::Box box;
  BoxOperand destination;
  BoxOperand source;
};

// Look up the operands of the message, except its stream. If the scope belongs
// to a graph's node, the graph keeps their memory. INVALID_ARGUMENT: the ranges
// overlap. Otherwise fail as ResolveCopyOperand, and ResolveCopy of a CopyRect
// as ResolveBox.
absl::StatusOr<CopyOperands> ResolveCopy(const OperandScope& scope,
                                         const v1::CopyBuffer& copy);
absl::StatusOr<CopyOperands> ResolveCopy(const OperandScope& scope,
                                         const v1::BatchedCopy& copy);
absl::StatusOr<BoxCopyOperands> ResolveCopy(const OperandScope& scope,
                                            const v1::CopyRect& copy);

// Completes the pitches of `box`, and looks up the memory of `range` for
// `access`. INVALID_ARGUMENT: the box has no bytes, or the pitches do not fit
// the box. Otherwise fails as ResolveCopyOperand.
absl::StatusOr<BoxOperand> ResolveBox(const OperandScope& scope,
                                      const cuda::Box& box,
                                      const v1::PitchedRange& range,
                                      Access access);

// Returns the context of the device that has the memory of `place`, one side of
// a copy. If that is host memory, returns the context of `other`, the other
// side; if both are host memory, returns `fallback`. Opens the device if it is
// not open, and fails if it cannot be opened. Never returns null.
absl::StatusOr<const cuda::Context*> ContextOf(Resources& resources,
                                               const CopyOperand& place,
                                               const CopyOperand& other,
                                               const cuda::Context& fallback);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_COPY_OPERANDS_H_
