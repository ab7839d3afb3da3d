// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/launch_attribute_list.h"

namespace holdfast::cuda {
namespace {

template <typename T>
void SetDim(const Dim3& dim, T* value) {
  value->x = dim.x;
  value->y = dim.y;
  value->z = dim.z;
}

}  // namespace

LaunchAttributeList::LaunchAttributeList(const LaunchConfig& config) {
  if (config.cooperative) {
    Add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  }
  if (config.cluster.has_value()) {
    SetDim(*config.cluster,
           &Add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim);
  }
  AddScheduling(config.attributes);
  AddMemory(config.attributes);
  AddEvents(config.attributes);
}

CUlaunchAttributeValue& LaunchAttributeList::Add(CUlaunchAttributeID id) {
  CUlaunchAttribute& attribute = list_[size_++];
  attribute = {};
  attribute.id = id;
  return attribute.value;
}

void LaunchAttributeList::AddScheduling(const LaunchAttributes& set) {
  if (set.cluster_scheduling_policy.has_value()) {
    Add(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)
        .clusterSchedulingPolicyPreference = *set.cluster_scheduling_policy;
  }
  if (set.programmatic_stream_serialization.has_value()) {
    Add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
        .programmaticStreamSerializationAllowed =
        *set.programmatic_stream_serialization;
  }
  if (set.priority.has_value()) {
    Add(CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = *set.priority;
  }
  if (set.preferred_cluster.has_value()) {
    SetDim(*set.preferred_cluster,
           &Add(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION)
                .preferredClusterDim);
  }
  if (set.synchronization_policy.has_value()) {
    Add(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy =
        *set.synchronization_policy;
  }
}

void LaunchAttributeList::AddMemory(const LaunchAttributes& set) {
  if (set.access_policy_window.has_value()) {
    Add(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow =
        *set.access_policy_window;
  }
  if (set.memory_sync_domain_map.has_value()) {
    Add(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP).memSyncDomainMap =
        *set.memory_sync_domain_map;
  }
  if (set.memory_sync_domain.has_value()) {
    Add(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain =
        *set.memory_sync_domain;
  }
  if (set.preferred_shared_memory_carveout.has_value()) {
    Add(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
        .sharedMemCarveout = *set.preferred_shared_memory_carveout;
  }
}

void LaunchAttributeList::AddEvents(const LaunchAttributes& set) {
  if (set.programmatic_event.has_value()) {
    auto& value = Add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT).programmaticEvent;
    value.event = set.programmatic_event->event->handle();
    value.flags = 0;
    value.triggerAtBlockStart = set.programmatic_event->trigger_at_block_start;
  }
  if (set.launch_completion_event != nullptr) {
    auto& value =
        Add(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT).launchCompletionEvent;
    value.event = set.launch_completion_event->handle();
    value.flags = 0;
  }
}

}  // namespace holdfast::cuda
