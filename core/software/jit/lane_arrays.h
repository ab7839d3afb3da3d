// SPDX-License-Identifier: Apache-2.0
//
// Values of the 32 lanes as arrays in memory, and code that goes through lanes
// one by one: for what vectors cannot do, or not as fast.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_LANE_ARRAYS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_LANE_ARRAYS_H_

#include <functional>

#include "core/software/jit/lane_values.h"

namespace holdfast::software::jit {

class LaneArrays {
 public:
  explicit LaneArrays(Builder& b) : b_(b), v_(b) {}

  // Stores a varying value to a new array on the stack.
  llvm::AllocaInst* Spill(const Value& value) const;
  // Loads a varying value of this type from such an array.
  Value LoadLanes(llvm::AllocaInst* array, ptx::Type type) const;
  // Emits a loop over the lanes of `bits`, the lowest first, with `body`, which
  // gets the lane's number (i32). Emits code for no lanes as well.
  void ForEachLane(llvm::Value* bits,
                   const std::function<void(llvm::Value* lane)>& body) const;
  // Returns the scalar of the lowest of `lanes`. REQUIRES: there is one.
  llvm::Value* OfFirstLane(const Value& value, llvm::Value* lanes) const;
  // Returns the value as one lane has it: uniform.
  Value AtLane(const Value& value, llvm::Value* lane) const;
  // Returns how far `lane` of a unit lies from the unit's base.
  llvm::Value* DistanceOf(llvm::Value* base, const analysis::LaneShape& shape,
                          llvm::Value* lane) const;

 private:
  Builder& b_;
  const LaneValues v_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_LANE_ARRAYS_H_
