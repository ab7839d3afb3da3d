// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LAUNCH_ATTRIBUTES_H_
#define HOLDFAST_CLIENT_CPP_LAUNCH_ATTRIBUTES_H_

#include <cstdint>
#include <optional>

#include "client/cpp/event.h"
#include "holdfast/v1/launch.pb.h"

namespace holdfast {

class WireWriter;

// A number of blocks or threads; 0 in any dimension is refused.
struct Dim3 {
  // NOLINTNEXTLINE(google-explicit-constructor): .grid = 196
  constexpr Dim3(uint32_t x = 1, uint32_t y = 1, uint32_t z = 1)
      : x(x), y(y), z(z) {}
  uint32_t x;
  uint32_t y;
  uint32_t z;
};

// CUlaunchAttribute, by name; an attribute that is not set has the driver's
// default. proto/holdfast/v1/launch.proto describes each.
struct LaunchAttributes {
  std::optional<bool> programmatic_stream_serialization;
  std::optional<int32_t> priority;
  std::optional<v1::ClusterSchedulingPolicy> cluster_scheduling_policy;
  std::optional<v1::SynchronizationPolicy> synchronization_policy;
  std::optional<v1::MemSyncDomain> mem_sync_domain;
  std::optional<v1::MemSyncDomainMap> mem_sync_domain_map;
  std::optional<Dim3> preferred_cluster;
  // Recorded when every block has begun.
  const Event* launch_completion_event = nullptr;
  std::optional<v1::AccessPolicyWindow> access_policy_window;
  std::optional<v1::ProgrammaticEvent> programmatic_event;
  // Percent: 0 .. 100.
  std::optional<uint32_t> preferred_shared_memory_carveout;

  bool any() const;
  // Writes them as fields of a v1::Launch.
  void Encode(WireWriter& writer) const;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LAUNCH_ATTRIBUTES_H_
