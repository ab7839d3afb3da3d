// SPDX-License-Identifier: Apache-2.0
//
// The shape of a value: what is known about it across the 32 lanes of a warp.
// It decides whether a value is kept as one scalar or as vectors, and whether a
// memory access becomes one vector access or 32 scalar ones.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_LANE_SHAPE_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_LANE_SHAPE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

inline constexpr int kWarpLanes = 32;

// Lanes of a varying value hold any numbers. Otherwise lane i of a unit holds
// base + i * stride, in modular arithmetic. The unit is the warp if `wide`,
// else a chunk: as many lanes as one vector of the CPU has.
//
// `chunk_lanes` in the functions below is that number of lanes.
struct LaneShape {
  bool varying = false;
  bool wide = true;
  int64_t stride = 0;
  // The number of low bits of the base that are known to be zero; 0 for a
  // varying value. From zeros >= 5 and stride 1 follows that threadIdx.x / 32
  // is the same for all 32 threads of a warp.
  int zeros = 0;

  // One value for all lanes of the warp.
  bool uniform() const { return !varying && wide && stride == 0; }
  // One value for each chunk.
  bool chunk_uniform() const { return !varying && stride == 0; }
  bool operator==(const LaneShape& other) const = default;
  // The top of the lattice.
  static LaneShape Varying() { return {true, false, 0, 0}; }
};

// The code of a kernel exists twice. kFull runs while all 32 lanes go the same
// way. It assumes that widening an affine 32-bit index does not overflow, and
// emits a check. kMasked runs any subset of lanes and assumes nothing. When all
// lanes meet again, full code continues if their values have the shapes that it
// assumes, which is also checked. So shapes of kFull are never wrong, only more
// or less useful. (Zeros need no check, because they are a property of each
// single value.)
enum class Mode { kFull, kMasked };

// The threads of a block, by dimension. Code is compiled for one shape. A row
// is a block with y == z == 1. One shape, with x == 0, stands for every row of
// whole warps or of less than one warp, so that a kernel is compiled once for
// all of them. This code reads the number of threads from the launch; a row of
// less than one warp runs masked code only.
struct BlockShape {
  uint32_t x = 1, y = 1, z = 1;  // x == 0: any such row

  // Returns the shape of the code that a launch with such blocks runs.
  static BlockShape ForLaunch(uint32_t x, uint32_t y, uint32_t z) {
    const bool any = y == 1 && z == 1 && (x < 32 || x % 32 == 0);
    return {any ? 0 : x, y, z};
  }
  bool any_row() const { return x == 0; }
  bool row() const { return y == 1 && z == 1; }
  // All warps have 32 threads, in every launch.
  bool whole_warps() const { return !any_row() && x * y * z % 32 == 0; }
  bool operator==(const BlockShape& other) const = default;
};

// Returns the shape of a special register. The shape of %tid depends on the
// extents of the block. In full code, a block of any row has whole warps.
LaneShape ShapeOfSpecial(ptx::Special special, const BlockShape& block,
                         Mode mode, int chunk_lanes);

// Returns the shape of the result of `instruction` for operands of these
// shapes. `operands` has entries for destinations, too, which are ignored.
LaneShape ResultShape(const ptx::Instruction& instruction,
                      absl::Span<const LaneShape> operands, Mode mode,
                      int chunk_lanes);

// Returns the shape of a register that holds values of either shape. The least
// upper bound: Join is commutative, and a register's shape only grows.
LaneShape Join(const LaneShape& a, const LaneShape& b, int chunk_lanes);

// True if the instruction turns 32-bit values into 64-bit ones, which keeps an
// affine shape only if no lane wraps.
bool Widens(const ptx::Instruction& instruction);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_LANE_SHAPE_H_
