// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/value_operands.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/executor/command/copy_operand.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {
namespace {

// CUDA's limit.
constexpr int kMaxOperations = 256;

bool IsWrite(const v1::ValueOperation& operation) {
  return operation.kind() == v1::ValueOperation::KIND_WRITE;
}

absl::StatusOr<unsigned> WaitFlag(v1::ValueOperation::Kind kind) {
  switch (kind) {
    case v1::ValueOperation::KIND_WAIT_AT_LEAST:
      return CU_STREAM_WAIT_VALUE_GEQ;
    case v1::ValueOperation::KIND_WAIT_EQUAL:
      return CU_STREAM_WAIT_VALUE_EQ;
    case v1::ValueOperation::KIND_WAIT_AND:
      return CU_STREAM_WAIT_VALUE_AND;
    case v1::ValueOperation::KIND_WAIT_NOR:
      return CU_STREAM_WAIT_VALUE_NOR;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("kind ", static_cast<int>(kind),
                       " of an operation on a value does not exist"));
  }
}

absl::StatusOr<CUdeviceptr> AddressOf(const OperandScope& scope,
                                      const v1::ValueOperation& operation) {
  const uint64_t size = operation.wide() ? 8 : 4;
  if (operation.offset() % size != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a value of ", size, " bytes at offset ", operation.offset(),
        ", which is not a multiple of ", size));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const CopyOperand place,
      ResolveCopyOperand(scope.resources, operation.buffer(),
                         operation.offset(), size,
                         IsWrite(operation) ? Access::kWrite : Access::kRead));
  HOLDFAST_RETURN_IF_ERROR(CheckPeerAccess(
      scope, operation.buffer(), place.device.value_or(scope.device)));
  HOLDFAST_RETURN_IF_ERROR(KeepMemory(scope, operation.buffer()));
  return place.address;
}

absl::StatusOr<CUstreamBatchMemOpParams> ResolveValue(
    const OperandScope& scope, const v1::ValueOperation& operation) {
  CUstreamBatchMemOpParams p;
  std::memset(&p, 0, sizeof p);
  HOLDFAST_ASSIGN_OR_RETURN(const CUdeviceptr address,
                            AddressOf(scope, operation));
  const bool wide = operation.wide();
  const uint64_t value =
      wide ? operation.value() : static_cast<uint32_t>(operation.value());
  if (IsWrite(operation)) {
    p.writeValue.operation = wide ? CU_STREAM_MEM_OP_WRITE_VALUE_64
                                  : CU_STREAM_MEM_OP_WRITE_VALUE_32;
    p.writeValue.address = address;
    p.writeValue.value64 = value;
    return p;
  }
  p.waitValue.operation =
      wide ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32;
  p.waitValue.address = address;
  p.waitValue.value64 = value;
  HOLDFAST_ASSIGN_OR_RETURN(p.waitValue.flags, WaitFlag(operation.kind()));
  return p;
}

}  // namespace

absl::StatusOr<ValueOperands> ResolveValues(const OperandScope& scope,
                                            const v1::ValueBatch& batch) {
  if (batch.operations_size() > kMaxOperations) {
    return absl::InvalidArgumentError(absl::StrCat(
        batch.operations_size(),
        " operations on values in one batch, the limit is ", kMaxOperations));
  }
  ValueOperands operands;
  for (const v1::ValueOperation& operation : batch.operations()) {
    HOLDFAST_ASSIGN_OR_RETURN(operands.operations.emplace_back(),
                              ResolveValue(scope, operation));
    if (!IsWrite(operation) && !operands.awaited.has_value()) {
      operands.awaited = {operation.buffer(), operation.value()};
    }
  }
  return operands;
}

}  // namespace holdfast::executor
