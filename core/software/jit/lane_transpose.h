// SPDX-License-Identifier: Apache-2.0
//
// Shuffles between two orders of one chunk's elements: by lane, as they lie in
// memory, and by element, as registers hold them.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_LANE_TRANSPOSE_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_LANE_TRANSPOSE_H_

#include "core/software/jit/arithmetic/builder.h"
#include "llvm/ADT/SmallVector.h"

namespace holdfast::software::jit {

class LaneTranspose {
 public:
  using Parts = llvm::SmallVector<llvm::Value*, 16>;

  explicit LaneTranspose(Builder& b) : b_(b), lanes_(b.lanes()) {}

  // {a0 b0 a1 b1 ..., ...} -> {a0 a1 ..., b0 b1 ...}, and back.
  Parts SplitPairs(llvm::ArrayRef<llvm::Value*> halves) const;
  Parts JoinPairs(llvm::ArrayRef<llvm::Value*> parts) const;
  // One vector of four elements a lane -> one vector of all lanes an element,
  // and back.
  Parts SplitFours(llvm::ArrayRef<llvm::Value*> groups) const;
  Parts JoinFours(llvm::ArrayRef<llvm::Value*> parts) const;

 private:
  Parts TransposeSquares(llvm::ArrayRef<llvm::Value*> parts) const;

  Builder& b_;
  const int lanes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_LANE_TRANSPOSE_H_
