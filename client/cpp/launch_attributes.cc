// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/launch_attributes.h"

#include "client/cpp/submission/wire_writer.h"

namespace holdfast {

bool LaunchAttributes::any() const {
  return programmatic_stream_serialization || priority ||
         cluster_scheduling_policy || synchronization_policy ||
         mem_sync_domain || mem_sync_domain_map || preferred_cluster ||
         launch_completion_event != nullptr || access_policy_window ||
         programmatic_event || preferred_shared_memory_carveout;
}

void LaunchAttributes::Encode(WireWriter& writer) const {
  if (!any()) return;
  v1::Launch launch;
  const auto add = [&launch] { return launch.add_attributes(); };
  if (programmatic_stream_serialization) {
    add()->set_programmatic_stream_serialization(
        *programmatic_stream_serialization);
  }
  if (priority) add()->set_priority(*priority);
  if (cluster_scheduling_policy) {
    add()->set_cluster_scheduling_policy(*cluster_scheduling_policy);
  }
  if (synchronization_policy) {
    add()->set_synchronization_policy(*synchronization_policy);
  }
  if (mem_sync_domain) add()->set_mem_sync_domain(*mem_sync_domain);
  if (mem_sync_domain_map) {
    *add()->mutable_mem_sync_domain_map() = *mem_sync_domain_map;
  }
  if (preferred_cluster) {
    v1::Dim3& size = *add()->mutable_preferred_cluster();
    size.set_x(preferred_cluster->x);
    size.set_y(preferred_cluster->y);
    size.set_z(preferred_cluster->z);
  }
  if (launch_completion_event != nullptr) {
    add()->mutable_launch_completion_event()->set_event(
        launch_completion_event->handle());
  }
  if (access_policy_window) {
    *add()->mutable_access_policy_window() = *access_policy_window;
  }
  if (programmatic_event) {
    *add()->mutable_programmatic_event() = *programmatic_event;
  }
  if (preferred_shared_memory_carveout) {
    add()->set_preferred_shared_memory_carveout(
        *preferred_shared_memory_carveout);
  }
  writer.Fields(launch);
}

}  // namespace holdfast
