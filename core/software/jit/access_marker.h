// SPDX-License-Identifier: Apache-2.0
//
// Marks LLVM instructions that access memory with their PTX instruction and
// lanes, so that the report of a fault can name both (access_site.h).
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_MARKER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_MARKER_H_

#include "core/software/jit/access_site.h"
#include "core/software/jit/active_lanes.h"
#include "core/software/jit/object_writer.h"

namespace holdfast::software::jit {

// The lanes of an access: see AccessSite.
struct AccessedLanes {
  AccessSite::Kind kind = AccessSite::Kind::kListed;
  int lane = 0;
  bool masked = true;
};

// Marks the LLVM instruction `access`, and returns it. `elements` is the number
// of elements of the PTX instruction's type that `access` moves for each lane.
template <typename T>
T* Mark(const lower::Kernel& kernel, const Step& step, T* access,
        const AccessedLanes& lanes, int elements = 1) {
  AccessSite site;
  site.instruction = step.IndexIn(kernel);
  site.kind = lanes.kind;
  site.masked = lanes.masked;
  site.lane = static_cast<uint8_t>(lanes.lane);
  // An instruction without a type is a copy, which moves words of 4 bytes.
  const bool typed = step.instruction.modifiers.type_count != 0;
  site.bytes = static_cast<uint8_t>(
      typed ? elements * ptx::BytesOf(step.instruction.type()) : 4);
  Describe(access, site);
  return access;
}

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ACCESS_MARKER_H_
