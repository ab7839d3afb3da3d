// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/value_batch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cuda/names.h"
#include "core/base/status_macros.h"

namespace holdfast::libcuda {
namespace {

constexpr size_t kMaxOperations = 256;

absl::StatusOr<ValueKind> WaitKind(unsigned flags) {
  switch (flags) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return ValueKind::kWaitAtLeast;
    case CU_STREAM_WAIT_VALUE_EQ:
      return ValueKind::kWaitEqual;
    case CU_STREAM_WAIT_VALUE_AND:
      return ValueKind::kWaitAnd;
    case CU_STREAM_WAIT_VALUE_NOR:
      return ValueKind::kWaitNor;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("flags ", flags, " of a wait for a value do not exist"));
  }
}

absl::Status RemoteWritesError() {
  return absl::UnimplementedError(
      "a session does not see writes of other devices on the bus, and has no "
      "flush for them");
}

bool Has(const v1::Device& device, CUdevice_attribute attribute) {
  const auto found = device.attributes().find(NameOf(attribute));
  return found != device.attributes().end() && found->second != 0;
}

}  // namespace

absl::StatusOr<ValueBatch> ValueBatch::Read(const MemoryMap& memory,
                                            Parameters parameters) {
  if (parameters.size() > kMaxOperations) {
    return absl::InvalidArgumentError(absl::StrCat(
        parameters.size(), " operations on values in one batch, the limit is ",
        kMaxOperations));
  }
  ValueBatch batch;
  for (const CUstreamBatchMemOpParams& p : parameters) {
    HOLDFAST_RETURN_IF_ERROR(batch.Add(memory, p));
  }
  return batch;
}

absl::Status ValueBatch::Add(const MemoryMap& memory,
                             const CUstreamBatchMemOpParams& p) {
  const auto& wait = p.waitValue;
  const auto& write = p.writeValue;
  switch (p.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: {
      if ((wait.flags & CU_STREAM_WAIT_VALUE_FLUSH) != 0) {
        return RemoteWritesError();
      }
      HOLDFAST_ASSIGN_OR_RETURN(const ValueKind kind, WaitKind(wait.flags));
      const bool wide = p.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64;
      return Add(memory, wait.address, kind,
                 wide ? wait.value64 : uint64_t{wait.value}, wide);
    }
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: {
      // Writes always have a barrier before them.
      if ((write.flags & ~unsigned{CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER}) !=
          0) {
        return absl::InvalidArgumentError(
            absl::StrCat("flags ", write.flags, " of a write do not exist"));
      }
      const bool wide = p.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
      return Add(memory, write.address, ValueKind::kWrite,
                 wide ? write.value64 : uint64_t{write.value}, wide);
    }
    case CU_STREAM_MEM_OP_BARRIER:
      return absl::OkStatus();
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return RemoteWritesError();
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("operation ", static_cast<int>(p.operation),
                       " on a value does not exist"));
  }
}

absl::Status ValueBatch::Add(const MemoryMap& memory, CUdeviceptr address,
                             ValueKind kind, uint64_t value, bool wide) {
  HOLDFAST_ASSIGN_OR_RETURN(Operand operand,
                            Operand::OnDevice(memory, address));
  if (operand.is_ordinary()) {
    return absl::InvalidArgumentError(
        "a stream cannot reach a value in the program's own memory");
  }
  const ValueOperation operation{
      .kind = kind, .place = operand.place(), .value = value, .wide = wide};
  HOLDFAST_RETURN_IF_ERROR(operation.Check());
  memory_.push_back(std::move(operand));
  operations_.push_back(operation);
  return absl::OkStatus();
}

absl::Status ValueBatch::CheckSupport(const v1::Device& device) const {
  for (const ValueOperation& operation : operations_) {
    if (operation.wide &&
        !Has(device, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS)) {
      return absl::UnimplementedError(
          "the device has no operations on values of 64 bits in streams");
    }
    if (operation.kind == ValueKind::kWaitNor &&
        !Has(device, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR)) {
      return absl::UnimplementedError(
          "the device has no CU_STREAM_WAIT_VALUE_NOR");
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::libcuda
