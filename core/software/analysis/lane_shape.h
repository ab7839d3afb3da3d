// SPDX-License-Identifier: Apache-2.0
//
// The shape of a value: how the values of the 32 lanes of a warp are related.
// The shape decides whether generated code keeps one scalar or vectors, and
// whether a memory access becomes one vector access or 32 scalar accesses.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_LANE_SHAPE_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_LANE_SHAPE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

inline constexpr int kWarpLanes = 32;

// The lanes of a varying value have any numbers. For any other value, lane i of
// a unit has the number base + i * stride, in modular arithmetic. The unit is
// the warp if `wide` is true, otherwise a chunk: the lanes of one vector of the
// CPU. The number of lanes of a chunk is `chunk_lanes` in the functions below.
struct LaneShape {
  bool varying = false;
  bool wide = true;
  int64_t stride = 0;
  // The number of low bits of the base that are known to be zero; 0 for a
  // varying value. For instance, threadIdx.x / 32 is the same for all threads
  // of a warp if threadIdx.x has stride 1 and zeros >= 5.
  int zeros = 0;

  // Returns true if all lanes of the warp have the same value.
  bool uniform() const { return !varying && wide && stride == 0; }
  // Returns true if all lanes of each chunk have the same value.
  bool chunk_uniform() const { return !varying && stride == 0; }
  bool operator==(const LaneShape& other) const = default;
  // The top of the lattice.
  static LaneShape Varying() { return {true, false, 0, 0}; }
};

// The two versions of the code of a kernel. Full code runs while all 32 lanes
// take the same path. It assumes that widening an affine 32-bit index does not
// overflow, and checks this assumption at run time. Masked code runs any subset
// of lanes, and assumes nothing. When all lanes meet again, full code continues
// if the lanes' values have the shapes that it assumes, which is also checked.
// So the shapes of full code are always right when it runs. (`zeros` needs no
// check, because it is a property of each lane's value.)
enum class Mode { kFull, kMasked };

// The number of threads of a block, by dimension. Code is compiled for one
// block shape. A row is a block with y == z == 1. The shape "any row", with x
// == 0, stands for all rows of whole warps and all rows of less than one warp,
// so that a kernel is compiled only once for all of them. Code for any row
// reads the number of threads from the launch. A row of less than one warp runs
// only masked code.
struct BlockShape {
  uint32_t x = 1, y = 1, z = 1;  // x == 0: any row

  // Returns the shape of the code that a launch with such blocks runs.
  static BlockShape ForLaunch(uint32_t x, uint32_t y, uint32_t z) {
    const bool any = y == 1 && z == 1 && (x < 32 || x % 32 == 0);
    return {any ? 0 : x, y, z};
  }
  bool any_row() const { return x == 0; }
  bool row() const { return y == 1 && z == 1; }
  // Returns true if all warps of every launch have 32 threads.
  bool whole_warps() const { return !any_row() && x * y * z % 32 == 0; }
  bool operator==(const BlockShape& other) const = default;
};

// Returns the shape of a special register. The shape of %tid depends on the
// block shape. In full code, any row has whole warps.
LaneShape ShapeOfSpecial(ptx::Special special, const BlockShape& block,
                         Mode mode, int chunk_lanes);

// Returns the shape of the result of `instruction`. `operands` has the shape of
// each operand; the entries of destinations are ignored.
LaneShape ResultShape(const ptx::Instruction& instruction,
                      absl::Span<const LaneShape> operands, Mode mode,
                      int chunk_lanes);

// Returns the shape of a register that has values of the shapes `a` and `b`:
// their least upper bound. Join is commutative.
LaneShape Join(const LaneShape& a, const LaneShape& b, int chunk_lanes);

// Returns true if the instruction extends 32-bit values to 64 bits. This keeps
// an affine shape only if no lane overflows.
bool Widens(const ptx::Instruction& instruction);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_LANE_SHAPE_H_
