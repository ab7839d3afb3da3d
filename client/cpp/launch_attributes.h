// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LAUNCH_ATTRIBUTES_H_
#define HOLDFAST_CLIENT_CPP_LAUNCH_ATTRIBUTES_H_

#include <cstdint>
#include <optional>

#include "client/cpp/event.h"

namespace holdfast {

class WireWriter;

// A number of blocks or threads; 0 in any dimension is refused.
struct Dim3 {
  // NOLINTNEXTLINE(google-explicit-constructor): .grid = 196
  constexpr Dim3(uint32_t size_x = 1, uint32_t size_y = 1, uint32_t size_z = 1)
      : x(size_x), y(size_y), z(size_z) {}
  uint32_t x;
  uint32_t y;
  uint32_t z;
};

// The types of attributes. Their names and numbers are those of
// proto/holdfast/v1/launch.proto, which describes them.
enum class ClusterSchedulingPolicy { kSpread = 1, kLoadBalancing = 2 };
enum class SynchronizationPolicy { kSpin = 1, kYield = 2, kBlockingSync = 3 };
enum class MemSyncDomain { kDefault = 1, kRemote = 2 };
struct MemSyncDomainMap {
  uint32_t default_domain = 0;
  uint32_t remote_domain = 0;
};
enum class AccessProperty { kNormal = 1, kStreaming = 2, kPersisting = 3 };
struct AccessPolicyWindow {
  uint64_t buffer = 0;  // a handle
  uint64_t offset = 0;
  uint64_t size = 0;
  float hit_ratio = 0;
  AccessProperty hit_property = {};
  AccessProperty miss_property = {};
};
struct ProgrammaticEvent {
  uint64_t event = 0;  // a handle
  bool trigger_at_block_start = false;
};

// The launch attributes of CUlaunchAttribute. There is one std::optional field
// for each row of proto/launch_attributes.inc, and
// proto/holdfast/v1/launch.proto describes each attribute. An attribute that is
// not set has the driver's default.
//
//   LaunchAttributes attributes;
//   attributes.priority = -1;
//
// Events are borrowed until the launch is submitted.
struct LaunchAttributes {
#define HOLDFAST_LAUNCH_ATTRIBUTE(name, Name, CType, CudaType, C_KIND, \
                                  CUDA_ID, value, where, software)     \
  std::optional<CType> name;
#include "proto/launch_attributes.inc"

  // Returns true if an attribute is set. A null event counts as not set.
  bool any() const;
  // Writes the set attributes as fields of a v1::Launch.
  void Encode(WireWriter& writer) const;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LAUNCH_ATTRIBUTES_H_
