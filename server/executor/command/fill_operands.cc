// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/fill_operands.h"

#include "core/base/status_macros.h"
#include "server/executor/command/buffer_range.h"
#include "server/executor/command/copy_operands.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

absl::StatusOr<FillOperands> ResolveFill(const OperandScope& scope,
                                         const v1::FillBuffer& fill) {
  FillOperands operands;
  operands.box.width = fill.size();
  operands.pitches = {fill.size(), fill.size()};
  HOLDFAST_ASSIGN_OR_RETURN(
      operands.address,
      ResolveRange(scope.resources, fill.buffer(), fill.offset(), fill.size(),
                   Access::kWrite));
  HOLDFAST_RETURN_IF_ERROR(KeepMemory(scope, fill.buffer()));
  HOLDFAST_ASSIGN_OR_RETURN(operands.pattern, PatternOf(fill));
  HOLDFAST_RETURN_IF_ERROR(CheckAlignment(operands.pattern, fill.offset()));
  return operands;
}

absl::StatusOr<FillOperands> ResolveFill(const OperandScope& scope,
                                         const v1::FillRect& fill) {
  if (fill.destination().slice_pitch() != 0) {
    return absl::InvalidArgumentError("a fill of rows has no slice pitch");
  }
  FillOperands operands;
  operands.box = {fill.width(), fill.height(), 1};
  HOLDFAST_ASSIGN_OR_RETURN(operands.pattern, PatternOf(fill));
  HOLDFAST_ASSIGN_OR_RETURN(
      const BoxOperand box,
      ResolveBox(scope, operands.box, fill.destination(), Access::kWrite));
  operands.pitches = box.pitches;
  operands.address = box.place.address;
  HOLDFAST_RETURN_IF_ERROR(
      CheckAlignment(operands.pattern, fill.destination().offset()));
  return operands;
}

}  // namespace holdfast::executor
