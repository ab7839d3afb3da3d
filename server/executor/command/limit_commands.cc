// SPDX-License-Identifier: Apache-2.0
//
// Limits of cuCtxSetLimit. Memory that the driver takes for a larger limit is
// charged to the session before.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/device_limit.h"
#include "server/executor/command/command_handlers.h"

namespace holdfast::executor {
namespace {

absl::StatusOr<CUlimit> ToCuda(v1::DeviceLimit limit) {
  switch (limit) {
    case v1::DEVICE_LIMIT_STACK_SIZE:
      return CU_LIMIT_STACK_SIZE;
    case v1::DEVICE_LIMIT_PRINTF_BUFFER_SIZE:
      return CU_LIMIT_PRINTF_FIFO_SIZE;
    case v1::DEVICE_LIMIT_MALLOC_HEAP_SIZE:
      return CU_LIMIT_MALLOC_HEAP_SIZE;
    case v1::DEVICE_LIMIT_LAUNCH_DEPTH:
      return CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH;
    case v1::DEVICE_LIMIT_PENDING_LAUNCHES:
      return CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT;
    case v1::DEVICE_LIMIT_L2_FETCH_GRANULARITY:
      return CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
    case v1::DEVICE_LIMIT_PERSISTING_L2_CACHE_SIZE:
      return CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "device limit ", static_cast<int>(limit), " does not exist"));
  }
}

// The bytes of device memory that the driver may take for one unit of a limit.
absl::StatusOr<uint64_t> BytesOfUnit(const cuda::Context& context,
                                     v1::DeviceLimit limit) {
  switch (limit) {
    case v1::DEVICE_LIMIT_STACK_SIZE: {
      const cuda::Device& device = context.device();
      HOLDFAST_ASSIGN_OR_RETURN(
          const int processors,
          device.Attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
      HOLDFAST_ASSIGN_OR_RETURN(
          const int threads,
          device.Attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
      return static_cast<uint64_t>(processors) * static_cast<uint64_t>(threads);
    }
    case v1::DEVICE_LIMIT_PRINTF_BUFFER_SIZE:
    case v1::DEVICE_LIMIT_MALLOC_HEAP_SIZE:
      return 1;
    default:
      return 0;
  }
}

absl::StatusOr<uint64_t> BytesBeyond(const cuda::Context& context,
                                     v1::DeviceLimit limit, uint64_t first,
                                     uint64_t value) {
  if (value <= first) return 0;
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t unit, BytesOfUnit(context, limit));
  uint64_t bytes = 0;
  return __builtin_mul_overflow(value - first, unit, &bytes) ? UINT64_MAX
                                                             : bytes;
}

absl::StatusOr<DeviceState::Limit*> FindLimit(DeviceState& device,
                                              v1::DeviceLimit limit,
                                              CUlimit name) {
  const auto known = device.limits.find(limit);
  if (known != device.limits.end()) return &known->second;
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t first,
                            cuda::GetLimit(*device.context, name));
  DeviceState::Limit& made = device.limits[limit];
  made.first = first;
  return &made;
}

}  // namespace

absl::Status Handle(const CommandContext& context,
                    const v1::SetDeviceLimit& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(const CUlimit name, ToCuda(command.limit()));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(command.device()));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState::Limit * limit,
                            FindLimit(*device, command.limit(), name));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t bytes,
                            BytesBeyond(*device->context, command.limit(),
                                        limit->first, command.value()));
  const uint64_t charged = limit->memory.amount();
  Charge more;
  if (bytes > charged) {
    HOLDFAST_ASSIGN_OR_RETURN(
        more, resources.account().device_memory()->Take(bytes - charged));
  }
  HOLDFAST_RETURN_IF_ERROR(
      cuda::SetLimit(*device->context, name, command.value()));
  if (bytes > charged) {
    limit->memory.Add(std::move(more));
  } else {
    limit->memory.Return(charged - bytes);
  }
  return absl::OkStatus();
}

absl::Status Handle(const CommandContext& context,
                    const v1::QueryDeviceLimit& command) {
  HOLDFAST_ASSIGN_OR_RETURN(const CUlimit name, ToCuda(command.limit()));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            context.resources.devices.Open(command.device()));
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t value,
                            cuda::GetLimit(*device->context, name));
  v1::Result result;
  result.mutable_device_limit()->set_value(value);
  context.Reply(std::move(result));
  return absl::OkStatus();
}

}  // namespace holdfast::executor
