// SPDX-License-Identifier: Apache-2.0
//
// Stores values of the 32 lanes as arrays in memory, and emits code that
// handles lanes one by one, for operations that vectors do not support or do
// more slowly.
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
  // Emits a loop over the lanes of `bits` (i32), the lowest first. `body` emits
  // its body, and gets the lane's number (i32). `bits` may be 0 at run time.
  void ForEachLane(llvm::Value* bits,
                   const std::function<void(llvm::Value* lane)>& body) const;
  // Returns the value of the lowest lane of `lanes` (i32), as a scalar.
  // REQUIRES: `lanes` is not 0 at run time.
  llvm::Value* OfFirstLane(const Value& value, llvm::Value* lanes) const;
  // Returns the value of one lane, as a uniform value.
  Value AtLane(const Value& value, llvm::Value* lane) const;
  // Returns the difference between the value of `lane` and the unit's base.
  llvm::Value* DistanceOf(llvm::Value* base, const analysis::LaneShape& shape,
                          llvm::Value* lane) const;

 private:
  Builder& b_;
  const LaneValues v_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_LANE_ARRAYS_H_
