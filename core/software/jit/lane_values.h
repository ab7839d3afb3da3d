// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of shapes: gives a Value the form that an operation needs, without
// storing anything.
//
// A value that is uniform or affine over the warp is one scalar (its base);
// over a chunk, one scalar a chunk; a varying one, a vector a chunk. Operations
// run in the shape of their result.
//
// A varying predicate has two forms: a mask a chunk (vectors of i1), and one
// bit a lane in an i32, which is how it is kept, so that combining predicates
// costs one instruction.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_LANE_VALUES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_LANE_VALUES_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/jit/value.h"

namespace holdfast::software::jit {

class LaneValues {
 public:
  explicit LaneValues(Builder& b)
      : b_(b), lanes_(b.lanes()), chunks_(analysis::kWarpLanes / b.lanes()) {}

  int lanes() const { return lanes_; }    // of a chunk
  int chunks() const { return chunks_; }  // of a warp

  // Returns how many scalars or vectors make up a value of this shape.
  int PartsOf(const analysis::LaneShape& shape) const;
  Value Uniform(ptx::Type type, llvm::Value* scalar) const;
  // Returns the scalar that a chunk's lanes count from. REQUIRES: not varying.
  llvm::Value* Base(const Value& value, int chunk) const;
  // Returns a chunk of the value as a vector, whatever its shape.
  llvm::Value* Vector(const Value& value, int chunk) const;
  // Returns the value in another shape that it has, too: never from varying.
  Value Reshape(const Value& value, const analysis::LaneShape& shape) const;
  // Returns the same bits as another type; integers are widened by their own
  // signedness.
  Value As(const Value& value, ptx::Type type) const;

  // Turns one bit a lane into the mask of a chunk, <lanes x i1>.
  llvm::Value* ChunkMask(llvm::Value* bits, int chunk) const;
  // Returns a varying predicate, in both forms.
  Value PredicateOf(llvm::Value* bits) const;
  // Returns one bit a lane, i32.
  llvm::Value* BitsOfPredicate(const Value& predicate) const;
  // Returns whether a varying predicate is `value` in every lane, i1. Cheaper
  // than to collect the bits.
  llvm::Value* AllAre(const Value& predicate, bool value) const;

  // Returns the numbers of a chunk's lanes within the warp, <lanes x i32>.
  llvm::Value* LaneNumbers(int chunk) const;
  // Returns every lane's address, `bytes` further on.
  Value Displaced(const Value& address, uint64_t bytes) const;
  // Returns the pointer, or vector of pointers, for addresses.
  llvm::Value* Pointer(llvm::Value* address) const;
  // Returns the pointer of one lane. REQUIRES: the addresses are affine.
  llvm::Value* LanePointer(const Value& address, int lane) const;

 private:
  Builder& b_;
  const int lanes_;
  const int chunks_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_LANE_VALUES_H_
