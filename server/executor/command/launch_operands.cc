// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/launch_operands.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "server/executor/command/copy_operand.h"
#include "server/executor/command/launch_attributes.h"
#include "server/executor/command/priority_range.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {

template <typename T>
LaunchOperands::Argument LaunchOperands::Store(T value) {
  static_assert(sizeof value <= sizeof(uint64_t));
  uint64_t& cell = cells_.emplace_back();
  std::memcpy(&cell, &value, sizeof value);
  return {&cell, sizeof value};
}

template <typename T, typename Wide>
absl::StatusOr<LaunchOperands::Argument> LaunchOperands::StoreNarrow(
    Wide value, absl::string_view type) {
  if (static_cast<Wide>(static_cast<T>(value)) != value) {
    return absl::OutOfRangeError(
        absl::StrCat("the value ", value, " does not fit into ", type));
  }
  return Store(static_cast<T>(value));
}

absl::StatusOr<LaunchOperands::Argument> LaunchOperands::BufferAddress(
    const OperandScope& scope, const v1::BufferArgument& argument) {
  if (argument.buffer() == 0) {
    if (argument.offset() == 0) return Store(CUdeviceptr{0});
    return absl::InvalidArgumentError("a null pointer with an offset");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const CopyOperand place,
      ResolveCopyOperand(scope.resources, argument.buffer(), argument.offset(),
                         /*size=*/0, Access::kRead));
  HOLDFAST_RETURN_IF_ERROR(CheckPeerAccess(
      scope, argument.buffer(), place.device.value_or(scope.device)));
  HOLDFAST_RETURN_IF_ERROR(KeepMemory(scope, argument.buffer()));
  return Store(place.address);
}

absl::StatusOr<LaunchOperands::Argument> LaunchOperands::Condition(
    const OperandScope& scope, uint32_t id) {
  if (scope.conditions == nullptr) {
    return absl::InvalidArgumentError(
        "a condition of a graph is for launches in that graph");
  }
  const auto found = scope.conditions->find(id);
  if (found == scope.conditions->end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("condition ", id, " is not declared"));
  }
  return Store(found->second);
}

absl::StatusOr<LaunchOperands::Argument> LaunchOperands::ToArgument(
    const OperandScope& scope, const v1::Argument& argument) {
  switch (argument.value_case()) {
    case v1::Argument::kBuffer:
      return BufferAddress(scope, argument.buffer());
    case v1::Argument::kBoolean:
      return Store(static_cast<uint8_t>(argument.boolean()));
    case v1::Argument::kI8:
      return StoreNarrow<int8_t>(argument.i8(), "i8");
    case v1::Argument::kI16:
      return StoreNarrow<int16_t>(argument.i16(), "i16");
    case v1::Argument::kI32:
      return Store(argument.i32());
    case v1::Argument::kI64:
      return Store(argument.i64());
    case v1::Argument::kU8:
      return StoreNarrow<uint8_t>(argument.u8(), "u8");
    case v1::Argument::kU16:
      return StoreNarrow<uint16_t>(argument.u16(), "u16");
    case v1::Argument::kU32:
      return Store(argument.u32());
    case v1::Argument::kU64:
      return Store(argument.u64());
    case v1::Argument::kF16Bits:
      return StoreNarrow<uint16_t>(argument.f16_bits(), "f16");
    case v1::Argument::kF32:
      return Store(argument.f32());
    case v1::Argument::kF64:
      return Store(argument.f64());
    case v1::Argument::kRaw:
      return Argument{argument.raw().data(), argument.raw().size()};
    case v1::Argument::kGraphCondition:
      return Condition(scope, argument.graph_condition());
    case v1::Argument::kTexture:
    case v1::Argument::kSurface:
    case v1::Argument::kTensorMap:
      return absl::UnimplementedError(
          "textures, surfaces and tensor maps are not served");
    case v1::Argument::VALUE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("an argument of unknown type");
}

absl::Status LaunchOperands::ResolveKernel(const OperandScope& scope,
                                           uint64_t handle) {
  HOLDFAST_ASSIGN_OR_RETURN(kernel_,
                            scope.resources.KernelOn(handle, scope.device));
  if (scope.uses == nullptr) return absl::OkStatus();
  scope.uses->kernel = kernel_;
  if (!scope.holds->Insert(handle, scope.device)) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(KernelResource * found,
                            scope.resources.kernels.Find(handle));
  for (const auto& kernel : found->by_device) {
    if (kernel.get() != kernel_) continue;
    scope.holds->Add(std::shared_ptr<const void>(kernel));
  }
  return absl::OkStatus();
}

absl::Status LaunchOperands::ResolveConfig(const OperandScope& scope,
                                           const v1::Launch& launch) {
  config_.grid = ToDim3(launch.grid());
  config_.block = ToDim3(launch.block());
  if (launch.has_cluster()) config_.cluster = ToDim3(launch.cluster());
  config_.dynamic_shared_bytes = launch.dynamic_shared_bytes();
  config_.cooperative = launch.cooperative();
  for (const v1::LaunchAttribute& attribute : launch.attributes()) {
    HOLDFAST_RETURN_IF_ERROR(
        SetAttribute(scope, attribute, &config_.attributes));
  }
  HOLDFAST_RETURN_IF_ERROR(
      CheckAttributeRanges(config_.attributes, kernel_->context()));
  std::optional<int>& priority = config_.attributes.priority;
  if (priority.has_value()) {
    priority =
        PriorityOn(kernel_->context(),
                   scope.resources.options().stream_priorities, *priority);
  }
  return absl::OkStatus();
}

absl::Status LaunchOperands::Resolve(const OperandScope& scope,
                                     const v1::Launch& launch) {
  HOLDFAST_RETURN_IF_ERROR(ResolveKernel(scope, launch.kernel()));
  HOLDFAST_RETURN_IF_ERROR(ResolveConfig(scope, launch));
  const auto count = static_cast<size_t>(launch.arguments_size());
  cells_.reserve(count);
  arguments_.reserve(count);
  for (const v1::Argument& argument : launch.arguments()) {
    auto converted = ToArgument(scope, argument);
    if (!converted.ok()) {
      return WithPrefix(absl::StrCat("argument ", arguments_.size()),
                        converted.status());
    }
    arguments_.push_back(*converted);
  }
  return absl::OkStatus();
}

}  // namespace holdfast::executor
