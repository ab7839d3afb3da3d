// SPDX-License-Identifier: Apache-2.0
//
// Emits shuffles between two orders of the elements of one chunk: by lane,
// which is the order in memory, and by element, which is the order in
// registers.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_LANE_TRANSPOSE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_LANE_TRANSPOSE_H_

#include "core/software/jit/arithmetic/builder.h"
#include "llvm/ADT/SmallVector.h"

namespace holdfast::software::jit {

class LaneTranspose {
 public:
  using Parts = llvm::SmallVector<llvm::Value*, 16>;

  explicit LaneTranspose(Builder& b) : b_(b), lanes_(b.lanes()) {}

  // Convert between the order by lane and the order by element, for two
  // elements a and b of each lane: {a0 b0 a1 b1 ..., ...} and {a0 a1 ..., b0 b1
  // ...}.
  Parts SplitPairs(llvm::ArrayRef<llvm::Value*> halves) const;
  Parts JoinPairs(llvm::ArrayRef<llvm::Value*> parts) const;
  // Convert between one vector for each lane, with four elements, and one
  // vector for each element, with all lanes.
  Parts SplitFours(llvm::ArrayRef<llvm::Value*> groups) const;
  Parts JoinFours(llvm::ArrayRef<llvm::Value*> parts) const;

 private:
  Parts TransposeSquares(llvm::ArrayRef<llvm::Value*> parts) const;

  Builder& b_;
  const int lanes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_LANE_TRANSPOSE_H_
