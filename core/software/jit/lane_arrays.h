// SPDX-License-Identifier: Apache-2.0
//
// Emits code that stores values of the 32 lanes as arrays in memory, and code
// that handles lanes one by one. Emitters use it for operations that vectors do
// not support, or that are slower on vectors.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_LANE_ARRAYS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_LANE_ARRAYS_H_

#include <functional>

#include "core/software/jit/lane_values.h"

namespace holdfast::software::jit {

class LaneArrays {
 public:
  explicit LaneArrays(Builder& b) : b_(b), v_(b) {}

  // Emits a store of a varying value to a new array on the stack, and returns
  // the array. Element i is the value of lane i.
  llvm::AllocaInst* Spill(const Value& value) const;
  // Emits a load of a varying value of this type from an array of 32 elements.
  Value LoadLanes(llvm::AllocaInst* array, ptx::Type type) const;
  // Emits a loop over the lanes of `bits` (i32), the lowest first. Calls `body`
  // once, with the number of the lane (i32), to emit the body of the loop.
  // `bits` may be 0 at run time.
  void ForEachLane(llvm::Value* bits,
                   const std::function<void(llvm::Value* lane)>& body) const;
  // Returns the value of the lowest lane of `lanes` (i32), as a scalar.
  // REQUIRES: `lanes` is not 0 at run time.
  llvm::Value* OfFirstLane(const Value& value, llvm::Value* lanes) const;
  // Returns the value of one lane, as a uniform value.
  Value AtLane(const Value& value, llvm::Value* lane) const;
  // Returns the difference between the value of `lane` and `base`. `shape` is
  // affine, and `lane` counts from the lane whose value is `base`.
  llvm::Value* DistanceOf(llvm::Value* base, const analysis::LaneShape& shape,
                          llvm::Value* lane) const;

 private:
  Builder& b_;
  const LaneValues v_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_LANE_ARRAYS_H_
