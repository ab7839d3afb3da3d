// SPDX-License-Identifier: Apache-2.0
#include "server/executor/launch_command.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/container/fixed_array.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/cuda/launch.h"
#include "server/executor/buffer_commands.h"

namespace holdfast::executor {
namespace {

constexpr uint32_t kMaxCarveoutPercent = 100;

using cuda::KernelArgument;

// Values of arguments that do not stand in the message as the kernel wants
// them, at addresses that do not move.
class ArgumentCells {
 public:
  explicit ArgumentCells(size_t count) : cells_(count) {}

  template <typename T>
  KernelArgument Store(T value) {
    static_assert(sizeof value <= sizeof(uint64_t));
    uint64_t& cell = cells_[used_++];
    std::memcpy(&cell, &value, sizeof value);
    return {&cell, sizeof value};
  }

 private:
  absl::FixedArray<uint64_t, 32> cells_;
  size_t used_ = 0;
};

template <typename T, typename Wide>
absl::StatusOr<KernelArgument> StoreNarrow(ArgumentCells& cells, Wide value,
                                           absl::string_view type) {
  if (static_cast<Wide>(static_cast<T>(value)) != value) {
    return absl::OutOfRangeError(
        absl::StrCat("the value ", value, " does not fit into ", type));
  }
  return cells.Store(static_cast<T>(value));
}

// Can a kernel of `device` use this buffer?
absl::Status CheckAccess(Resources& resources, uint64_t handle,
                         uint32_t device) {
  HOLDFAST_ASSIGN_OR_RETURN(BufferResource * buffer,
                            resources.buffers.Find(handle));
  if (buffer->is_host || resources.peers.Allows(device, buffer->device))
      [[likely]] {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      DescribeHandle(handle), " is on device ", buffer->device,
      ", the kernel runs on device ", device,
      ", which has no access to the other's memory: enable it first "
      "(EnablePeerAccess)"));
}

absl::StatusOr<KernelArgument> BufferAddress(Resources& resources,
                                             ArgumentCells& cells,
                                             const v1::BufferArgument& argument,
                                             uint32_t device) {
  if (argument.buffer() == 0) {
    if (argument.offset() == 0) return cells.Store(CUdeviceptr{0});
    return absl::InvalidArgumentError("a null pointer with an offset");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const CUdeviceptr address,
      ResolveRange(resources, argument.buffer(), argument.offset(), 0));
  HOLDFAST_RETURN_IF_ERROR(CheckAccess(resources, argument.buffer(), device));
  return cells.Store(address);
}

absl::StatusOr<KernelArgument> ToArgument(Resources& resources,
                                          ArgumentCells& cells,
                                          const v1::Argument& argument,
                                          uint32_t device) {
  switch (argument.value_case()) {
    case v1::Argument::kBuffer:
      return BufferAddress(resources, cells, argument.buffer(), device);
    case v1::Argument::kBoolean:
      return cells.Store(static_cast<uint8_t>(argument.boolean()));
    case v1::Argument::kI8:
      return StoreNarrow<int8_t>(cells, argument.i8(), "i8");
    case v1::Argument::kI16:
      return StoreNarrow<int16_t>(cells, argument.i16(), "i16");
    case v1::Argument::kI32:
      return cells.Store(argument.i32());
    case v1::Argument::kI64:
      return cells.Store(argument.i64());
    case v1::Argument::kU8:
      return StoreNarrow<uint8_t>(cells, argument.u8(), "u8");
    case v1::Argument::kU16:
      return StoreNarrow<uint16_t>(cells, argument.u16(), "u16");
    case v1::Argument::kU32:
      return cells.Store(argument.u32());
    case v1::Argument::kU64:
      return cells.Store(argument.u64());
    case v1::Argument::kF16Bits:
      return StoreNarrow<uint16_t>(cells, argument.f16_bits(), "f16");
    case v1::Argument::kF32:
      return cells.Store(argument.f32());
    case v1::Argument::kF64:
      return cells.Store(argument.f64());
    case v1::Argument::kRaw:
      return KernelArgument{argument.raw().data(), argument.raw().size()};
    case v1::Argument::kTexture:
    case v1::Argument::kSurface:
    case v1::Argument::kTensorMap:
    case v1::Argument::kGraphCondition:
      return absl::UnimplementedError(
          "textures, surfaces, tensor maps and graph conditions are not "
          "served");
    case v1::Argument::VALUE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("an argument of unknown type");
}

cuda::Dim3 ToDim3(const v1::Dim3& dim) { return {dim.x(), dim.y(), dim.z()}; }

CUaccessProperty ToAccessProperty(v1::AccessProperty property) {
  switch (property) {
    case v1::ACCESS_PROPERTY_STREAMING:
      return CU_ACCESS_PROPERTY_STREAMING;
    case v1::ACCESS_PROPERTY_PERSISTING:
      return CU_ACCESS_PROPERTY_PERSISTING;
    default:
      return CU_ACCESS_PROPERTY_NORMAL;
  }
}

absl::StatusOr<CUaccessPolicyWindow> ToWindow(
    Resources& resources, const v1::AccessPolicyWindow& window) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const CUdeviceptr address,
      ResolveRange(resources, window.buffer(), window.offset(), window.size()));
  CUaccessPolicyWindow result{};
  result.base_ptr = reinterpret_cast<void*>(address);
  result.num_bytes = window.size();
  result.hitRatio = window.hit_ratio();
  result.hitProp = ToAccessProperty(window.hit_property());
  result.missProp = ToAccessProperty(window.miss_property());
  return result;
}

// INVALID_ARGUMENT unless `value` is one of an enum's named, specified values,
// which count from 1 in the protocol.
absl::Status CheckEnum(absl::string_view what, int value, int last) {
  if (value >= 1 && value <= last) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("launch attribute ", what, ": unknown value ", value));
}

absl::Status SetAttribute(Resources& resources,
                          const v1::LaunchAttribute& attribute,
                          cuda::LaunchAttributes* attributes) {
  switch (attribute.attribute_case()) {
    case v1::LaunchAttribute::kProgrammaticStreamSerialization:
      attributes->programmatic_stream_serialization =
          attribute.programmatic_stream_serialization();
      return absl::OkStatus();
    case v1::LaunchAttribute::kPriority:
      attributes->priority = attribute.priority();
      return absl::OkStatus();
    case v1::LaunchAttribute::kClusterSchedulingPolicy:
      attributes->cluster_scheduling_policy =
          static_cast<CUclusterSchedulingPolicy>(
              attribute.cluster_scheduling_policy());
      return CheckEnum("cluster_scheduling_policy",
                       attribute.cluster_scheduling_policy(), 2);
    case v1::LaunchAttribute::kSynchronizationPolicy:
      attributes->synchronization_policy = static_cast<CUsynchronizationPolicy>(
          attribute.synchronization_policy() + 1);
      return CheckEnum("synchronization_policy",
                       attribute.synchronization_policy(), 3);
    case v1::LaunchAttribute::kMemSyncDomain:
      attributes->memory_sync_domain =
          static_cast<CUlaunchMemSyncDomain>(attribute.mem_sync_domain() - 1);
      return CheckEnum("mem_sync_domain", attribute.mem_sync_domain(), 2);
    case v1::LaunchAttribute::kMemSyncDomainMap: {
      const auto& map = attribute.mem_sync_domain_map();
      if (map.default_domain() > 255 || map.remote_domain() > 255) {
        return absl::OutOfRangeError(
            "a memory synchronisation domain over 255");
      }
      attributes->memory_sync_domain_map = CUlaunchMemSyncDomainMap{
          static_cast<unsigned char>(map.default_domain()),
          static_cast<unsigned char>(map.remote_domain())};
      return absl::OkStatus();
    }
    case v1::LaunchAttribute::kPreferredCluster:
      attributes->preferred_cluster = ToDim3(attribute.preferred_cluster());
      return absl::OkStatus();
    case v1::LaunchAttribute::kLaunchCompletionEvent: {
      HOLDFAST_ASSIGN_OR_RETURN(
          EventResource * event,
          resources.events.Find(attribute.launch_completion_event().event()));
      attributes->launch_completion_event = event->event.get();
      return absl::OkStatus();
    }
    case v1::LaunchAttribute::kAccessPolicyWindow: {
      HOLDFAST_ASSIGN_OR_RETURN(
          attributes->access_policy_window,
          ToWindow(resources, attribute.access_policy_window()));
      return absl::OkStatus();
    }
    case v1::LaunchAttribute::kProgrammaticEvent: {
      const auto& programmatic = attribute.programmatic_event();
      HOLDFAST_ASSIGN_OR_RETURN(EventResource * event,
                                resources.events.Find(programmatic.event()));
      attributes->programmatic_event = {event->event.get(),
                                        programmatic.trigger_at_block_start()};
      return absl::OkStatus();
    }
    case v1::LaunchAttribute::kPreferredSharedMemoryCarveout:
      attributes->preferred_shared_memory_carveout =
          attribute.preferred_shared_memory_carveout();
      return absl::OkStatus();
    case v1::LaunchAttribute::ATTRIBUTE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("an unknown launch attribute");
}

// INVALID_ARGUMENT: a number that the device would take for another, or take
// without a word.
absl::Status CheckRanges(const cuda::LaunchAttributes& attributes,
                         const cuda::Context& context) {
  const int least = context.least_stream_priority();
  const int greatest = context.greatest_stream_priority();
  const auto priority = attributes.priority;
  if (priority.has_value() && (*priority < greatest || *priority > least)) {
    return absl::InvalidArgumentError(
        absl::StrCat("launch attribute priority: ", *priority, " is outside [",
                     greatest, ", ", least, "]"));
  }
  const auto carveout = attributes.preferred_shared_memory_carveout;
  if (carveout.has_value() && *carveout > kMaxCarveoutPercent) {
    return absl::InvalidArgumentError(absl::StrCat(
        "launch attribute preferred_shared_memory_carveout: ", *carveout,
        " percent, the limit is ", kMaxCarveoutPercent));
  }
  return absl::OkStatus();
}

// Fills in a default config, in place: it is too large to be handed about for
// every launch.
absl::Status FillConfig(Resources& resources, const v1::Launch& launch,
                        cuda::LaunchConfig* config) {
  config->grid = ToDim3(launch.grid());
  config->block = ToDim3(launch.block());
  if (launch.has_cluster()) config->cluster = ToDim3(launch.cluster());
  config->dynamic_shared_bytes = launch.dynamic_shared_bytes();
  config->cooperative = launch.cooperative();
  for (const v1::LaunchAttribute& attribute : launch.attributes()) {
    HOLDFAST_RETURN_IF_ERROR(
        SetAttribute(resources, attribute, &config->attributes));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Handle(const CommandContext& context, const v1::Launch& command) {
  Resources& resources = context.resources;
  HOLDFAST_ASSIGN_OR_RETURN(StreamResource * stream,
                            resources.streams.Find(command.stream()));
  HOLDFAST_ASSIGN_OR_RETURN(
      const cuda::Kernel* kernel,
      resources.KernelOn(command.kernel(), stream->device));
  cuda::LaunchConfig config;
  HOLDFAST_RETURN_IF_ERROR(FillConfig(resources, command, &config));
  HOLDFAST_RETURN_IF_ERROR(
      CheckRanges(config.attributes, stream->stream->context()));
  ArgumentCells cells(command.arguments_size());
  absl::InlinedVector<KernelArgument, 32> arguments;
  arguments.reserve(static_cast<size_t>(command.arguments_size()));
  for (const v1::Argument& argument : command.arguments()) {
    auto converted = ToArgument(resources, cells, argument, stream->device);
    if (!converted.ok()) {
      return WithPrefix(absl::StrCat("argument ", arguments.size()),
                        converted.status());
    }
    arguments.push_back(*converted);
  }
  return cuda::Launch(*stream->stream, config, *kernel, arguments);
}

}  // namespace holdfast::executor
