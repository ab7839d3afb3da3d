// SPDX-License-Identifier: Apache-2.0
//
// What is known about a register across the 32 lanes of a warp. It decides
// whether a value is kept as one scalar or as vectors, and whether a memory
// access becomes one vector access or 32 scalar ones.
#ifndef HOLDFAST_CORE_SOFTWARE_LOWER_SHAPES_H_
#define HOLDFAST_CORE_SOFTWARE_LOWER_SHAPES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::lower {

inline constexpr int kWarpLanes = 32;

// varying: any value per lane. Otherwise lane i of the unit holds
// base + i * stride, in modular arithmetic; the unit is the warp if `wide`,
// else a chunk (as many lanes as one vector of the CPU has).
struct Shape {
  bool varying = false;
  bool wide = true;
  int64_t stride = 0;

  bool uniform() const { return !varying && wide && stride == 0; }
  bool chunk_uniform() const { return !varying && stride == 0; }
  bool operator==(const Shape& other) const = default;
  static Shape Varying() { return {true, false, 0}; }
};

// The code of a kernel exists twice. kFull runs while all 32 lanes go the same
// way; it takes affine 32-bit indices to stay affine when widened, and checks.
// kMasked runs any subset of lanes and assumes nothing. When all lanes meet
// again, full code goes on if the values they bring have the shapes that it
// takes for granted, which is checked; so shapes of kFull are never wrong, only
// more or less useful.
enum class Mode { kFull, kMasked };

struct BlockShape {
  uint32_t x = 1, y = 1, z = 1;

  uint32_t threads() const { return x * y * z; }
  bool operator==(const BlockShape& other) const = default;
};

struct Shapes {
  std::vector<Shape> registers;
  // kMasked only: a write need not keep the old value for inactive lanes.
  std::vector<bool> overwrite;
  // kFull only, by block: diverged lanes are expected to meet here.
  std::vector<bool> meetings;
  // kFull only, by block: what lanes that part at its end run under masks; see
  // BranchRegion. They go on at `joins` together.
  std::vector<std::vector<int>> regions;
  std::vector<int> joins;
};

Shapes ComputeShapes(const Kernel& kernel, const BlockShape& block, Mode mode,
                     int chunk_lanes);

Shape ShapeOfSpecial(ptx::Special special, const BlockShape& block,
                     int chunk_lanes);

// The shape of what `instruction` computes from operands of these shapes
// (destinations count, but are ignored).
Shape ResultShape(const ptx::Instruction& instruction,
                  absl::Span<const Shape> operands, Mode mode);

// True if the instruction turns 32-bit values into 64-bit ones, which keeps an
// affine shape only if no lane wraps.
bool Widens(const ptx::Instruction& instruction);

}  // namespace holdfast::software::lower

#endif  // HOLDFAST_CORE_SOFTWARE_LOWER_SHAPES_H_
