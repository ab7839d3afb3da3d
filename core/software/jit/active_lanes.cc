// SPDX-License-Identifier: Apache-2.0
//
// Mask() loads the word of running lanes each time. LLVM joins the loads; a
// value kept across instructions would be wrong behind a convergence point.
#include "core/software/jit/active_lanes.h"

namespace holdfast::software::jit {

llvm::Value* ActiveLanes::Exec(Builder& b) const {
  if (exec != nullptr) return b.LoadI32(exec);
  return region == nullptr ? b.I32(kAllLanes) : region;
}

llvm::Value* ActiveLanes::Mask(Builder& b) const {
  if (alone()) return nullptr;
  llvm::Value* running = exec == nullptr ? region : b.LoadI32(exec);
  if (guard == nullptr || running == nullptr) {
    return running == nullptr ? guard : running;
  }
  return b.CreateAnd(running, guard);
}

llvm::Value* ActiveLanes::MaskOrAll(Builder& b) const {
  llvm::Value* mask = Mask(b);
  return mask == nullptr ? b.I32(kAllLanes) : mask;
}

llvm::Value* ActiveLanes::LaneBit(Builder& b) const {
  return b.CreateShl(b.I32(1), lane);
}

ActiveLanes ActiveLanes::Guarded(Builder& b, llvm::Value* bits) const {
  ActiveLanes narrowed = *this;
  narrowed.guard = guard == nullptr ? bits : b.CreateAnd(guard, bits);
  return narrowed;
}

}  // namespace holdfast::software::jit
