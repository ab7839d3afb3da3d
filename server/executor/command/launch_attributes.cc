// SPDX-License-Identifier: Apache-2.0
#include "server/executor/command/launch_attributes.h"

#include <optional>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/executor/command/buffer_range.h"
#include "server/executor/resources/resources.h"

namespace holdfast::executor {
namespace {

constexpr uint32_t kMaxCarveoutPercent = 100;
constexpr uint32_t kMaxDomain = 255;  // the driver has a byte for each

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

// The driver's value of an enumeration's; nullopt: it is unknown.
std::optional<CUclusterSchedulingPolicy> ToCuda(
    v1::ClusterSchedulingPolicy policy) {
  switch (policy) {
    case v1::CLUSTER_SCHEDULING_POLICY_SPREAD:
      return CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
    case v1::CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING:
      return CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
    default:
      return std::nullopt;
  }
}

std::optional<CUsynchronizationPolicy> ToCuda(
    v1::SynchronizationPolicy policy) {
  switch (policy) {
    case v1::SYNCHRONIZATION_POLICY_SPIN:
      return CU_SYNC_POLICY_SPIN;
    case v1::SYNCHRONIZATION_POLICY_YIELD:
      return CU_SYNC_POLICY_YIELD;
    case v1::SYNCHRONIZATION_POLICY_BLOCKING_SYNC:
      return CU_SYNC_POLICY_BLOCKING_SYNC;
    default:
      return std::nullopt;
  }
}

std::optional<CUlaunchMemSyncDomain> ToCuda(v1::MemSyncDomain domain) {
  switch (domain) {
    case v1::MEM_SYNC_DOMAIN_DEFAULT:
      return CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
    case v1::MEM_SYNC_DOMAIN_REMOTE:
      return CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    default:
      return std::nullopt;
  }
}

absl::StatusOr<const cuda::Event*> FindEvent(const OperandScope& scope,
                                             uint64_t handle) {
  HOLDFAST_ASSIGN_OR_RETURN(EventResource * event,
                            scope.resources.events.Find(handle));
  HOLDFAST_RETURN_IF_ERROR(CheckPlain(handle, *event));
  event->recorded_by_work = true;
  return event->event.get();
}

// Read: the protocol's value of the attribute `name` as the driver's. One
// overload for each type.

template <typename Number>
absl::Status Read(const OperandScope& scope, const char* name, Number value,
                  std::optional<Number>* attribute) {
  *attribute = value;
  return absl::OkStatus();
}

template <typename Enum, typename CudaEnum>
requires std::is_enum_v<Enum> absl::Status Read(
    const OperandScope& scope, const char* name, Enum value,
    std::optional<CudaEnum>* attribute) {
  *attribute = ToCuda(value);
  if (attribute->has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "launch attribute ", name, ": unknown value ", static_cast<int>(value)));
}

absl::Status Read(const OperandScope& scope, const char* name,
                  const v1::MemSyncDomainMap& map,
                  std::optional<CUlaunchMemSyncDomainMap>* attribute) {
  if (map.default_domain() > kMaxDomain || map.remote_domain() > kMaxDomain) {
    return absl::OutOfRangeError(
        absl::StrCat("launch attribute ", name,
                     ": a memory synchronisation domain over ", kMaxDomain));
  }
  *attribute =
      CUlaunchMemSyncDomainMap{static_cast<unsigned char>(map.default_domain()),
                               static_cast<unsigned char>(map.remote_domain())};
  return absl::OkStatus();
}

absl::Status Read(const OperandScope& scope, const char* name,
                  const v1::Dim3& dim, std::optional<cuda::Dim3>* attribute) {
  *attribute = ToDim3(dim);
  return absl::OkStatus();
}

absl::Status Read(const OperandScope& scope, const char* name,
                  const v1::LaunchCompletionEvent& completion,
                  std::optional<const cuda::Event*>* attribute) {
  HOLDFAST_ASSIGN_OR_RETURN(*attribute, FindEvent(scope, completion.event()));
  return absl::OkStatus();
}

absl::Status Read(
    const OperandScope& scope, const char* name,
    const v1::ProgrammaticEvent& programmatic,
    std::optional<cuda::LaunchAttributes::ProgrammaticEvent>* attribute) {
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Event* event,
                            FindEvent(scope, programmatic.event()));
  *attribute = {event, programmatic.trigger_at_block_start()};
  return absl::OkStatus();
}

absl::Status Read(const OperandScope& scope, const char* name,
                  const v1::AccessPolicyWindow& window,
                  std::optional<CUaccessPolicyWindow>* attribute) {
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
  *attribute = result;
  return absl::OkStatus();
}

}  // namespace

cuda::Dim3 ToDim3(const v1::Dim3& dim) { return {dim.x(), dim.y(), dim.z()}; }

absl::Status SetAttribute(const OperandScope& scope,
                          const v1::LaunchAttribute& attribute,
                          cuda::LaunchAttributes* attributes) {
  switch (attribute.attribute_case()) {
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  case v1::LaunchAttribute::k##Name:                                   \
    return Read(scope, #name, attribute.name(), &attributes->name);
#include "proto/launch_attributes.inc"
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
