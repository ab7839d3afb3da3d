// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/copy_operands.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {
namespace {

absl::StatusOr<CopyOperand> Resolve(const OperandScope& scope, uint64_t handle,
                                    uint64_t offset, uint64_t size,
                                    Access access) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const CopyOperand place,
      ResolveCopyOperand(scope.resources, handle, offset, size, access));
  HOLDFAST_RETURN_IF_ERROR(KeepMemory(scope, handle));
  return place;
}

// CopyBuffer and BatchedCopy have the same fields.
template <typename Message>
absl::StatusOr<CopyOperands> ResolveLinear(const OperandScope& scope,
                                           const Message& message) {
  CopyOperands copy{.size = message.size()};
  HOLDFAST_ASSIGN_OR_RETURN(
      copy.destination,
      Resolve(scope, message.destination(), message.destination_offset(),
              copy.size, Access::kWrite));
  HOLDFAST_ASSIGN_OR_RETURN(
      copy.source, Resolve(scope, message.source(), message.source_offset(),
                           copy.size, Access::kRead));
  const CUdeviceptr a = copy.destination.address, b = copy.source.address;
  if (copy.size == 0 || (a > b ? a - b : b - a) >= copy.size) [[likely]] {
    return copy;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "a copy of ", copy.size, " bytes from ", DescribeHandle(message.source()),
      " offset ", message.source_offset(), " to ",
      DescribeHandle(message.destination()), " offset ",
      message.destination_offset(), ": the ranges overlap"));
}

}  // namespace

absl::StatusOr<CopyOperands> ResolveCopy(const OperandScope& scope,
                                         const v1::CopyBuffer& copy) {
  return ResolveLinear(scope, copy);
}

absl::StatusOr<CopyOperands> ResolveCopy(const OperandScope& scope,
                                         const v1::BatchedCopy& copy) {
  return ResolveLinear(scope, copy);
}

absl::StatusOr<BoxOperand> ResolveBox(const OperandScope& scope,
                                      const cuda::Box& box,
                                      const v1::PitchedRange& range,
                                      Access access) {
  BoxOperand operand;
  HOLDFAST_ASSIGN_OR_RETURN(
      operand.pitches,
      cuda::CompletePitches(box, {range.row_pitch(), range.slice_pitch()}));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t extent,
                            cuda::BoxExtent(box, operand.pitches));
  HOLDFAST_ASSIGN_OR_RETURN(
      operand.place,
      Resolve(scope, range.buffer(), range.offset(), extent, access));
  return operand;
}

absl::StatusOr<BoxCopyOperands> ResolveCopy(const OperandScope& scope,
                                            const v1::CopyRect& copy) {
  BoxCopyOperands operands;
  operands.box = {copy.width(), copy.height(), copy.depth()};
  HOLDFAST_ASSIGN_OR_RETURN(
      operands.destination,
      ResolveBox(scope, operands.box, copy.destination(), Access::kWrite));
  HOLDFAST_ASSIGN_OR_RETURN(
      operands.source,
      ResolveBox(scope, operands.box, copy.source(), Access::kRead));
  HOLDFAST_RETURN_IF_ERROR(
      cuda::CheckApart(operands.box, operands.destination.place.address,
                       operands.destination.pitches,
                       operands.source.place.address, operands.source.pitches));
  return operands;
}

absl::StatusOr<const cuda::Context*> ContextOf(Resources& resources,
                                               const CopyOperand& place,
                                               const CopyOperand& other,
                                               const cuda::Context& fallback) {
  const auto device = place.device ? place.device : other.device;
  if (!device.has_value()) return &fallback;
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * state,
                            resources.devices.Open(*device));
  return state->context.get();
}

}  // namespace holdfast::executor
