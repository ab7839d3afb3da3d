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

// CUlaunchAttribute, by name: one std::optional field for each row of
// proto/launch_attributes.inc, in that order; an attribute that is not set has
// the driver's default. proto/holdfast/v1/launch.proto describes each.
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

  // Returns whether one is set. A null event counts as none.
  bool any() const;
  // Writes them as fields of a v1::Launch. Writes nothing if none is set.
  void Encode(WireWriter& writer) const;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_LAUNCH_ATTRIBUTES_H_
