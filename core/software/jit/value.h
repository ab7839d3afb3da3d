// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_VALUE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_VALUE_H_

#include "core/software/analysis/lane_shape.h"
#include "core/software/ptx/types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Value.h"

namespace holdfast::software::jit {

// The bits of all lanes of a warp, where a lane is a bit.
inline constexpr uint32_t kAllLanes = 0xFFFFFFFF;

// A value of the 32 lanes. Parts: one scalar (wide shape), one scalar a chunk,
// or one vector a chunk (varying).
struct Value {
  analysis::LaneShape shape;
  ptx::Type type = ptx::Type::kNone;
  llvm::SmallVector<llvm::Value*, 4> parts;
  // A varying predicate as an i32, lane i as bit i, if it has been kept so;
  // vectors are made of it where they are needed.
  llvm::Value* bits = nullptr;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_VALUE_H_
