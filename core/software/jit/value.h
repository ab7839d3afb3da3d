// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_VALUE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_VALUE_H_

#include "core/software/analysis/lane_shape.h"
#include "core/software/ptx/types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Value.h"

namespace holdfast::software::jit {

// The mask of all lanes of a warp, with one bit per lane.
inline constexpr uint32_t kAllLanes = 0xFFFFFFFF;

// A value of the 32 lanes of a warp. `parts` has one scalar (wide shape), one
// scalar for each chunk (not wide), or one vector for each chunk (varying).
struct Value {
  analysis::LaneShape shape;
  ptx::Type type = ptx::Type::kNone;
  llvm::SmallVector<llvm::Value*, 4> parts;
  // A varying predicate as an i32, with lane i as bit i. Null if only `parts`
  // has the value.
  llvm::Value* bits = nullptr;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_VALUE_H_
