// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/launch_attributes.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/executor/command/buffer_range.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {
namespace {

constexpr uint32_t kMaxCarveoutPercent = 100;

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
    const OperandScope& scope, const v1::AccessPolicyWindow& window) {
  HOLDFAST_ASSIGN_OR_RETURN(const CUdeviceptr address,
                            ResolveRange(scope.resources, window.buffer(),
                                         window.offset(), window.size()));
  HOLDFAST_RETURN_IF_ERROR(KeepMemory(scope, window.buffer()));
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

}  // namespace

cuda::Dim3 ToDim3(const v1::Dim3& dim) { return {dim.x(), dim.y(), dim.z()}; }

absl::Status SetAttribute(const OperandScope& scope,
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
          scope.resources.events.Find(
              attribute.launch_completion_event().event()));
      HOLDFAST_RETURN_IF_ERROR(
          CheckPlain(attribute.launch_completion_event().event(), *event));
      attributes->launch_completion_event = event->event.get();
      return absl::OkStatus();
    }
    case v1::LaunchAttribute::kAccessPolicyWindow: {
      HOLDFAST_ASSIGN_OR_RETURN(
          attributes->access_policy_window,
          ToWindow(scope, attribute.access_policy_window()));
      return absl::OkStatus();
    }
    case v1::LaunchAttribute::kProgrammaticEvent: {
      const auto& programmatic = attribute.programmatic_event();
      HOLDFAST_ASSIGN_OR_RETURN(
          EventResource * event,
          scope.resources.events.Find(programmatic.event()));
      HOLDFAST_RETURN_IF_ERROR(CheckPlain(programmatic.event(), *event));
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

absl::Status CheckAttributeRanges(const cuda::LaunchAttributes& attributes,
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

}  // namespace holdfast::executor
