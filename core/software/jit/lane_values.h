// SPDX-License-Identifier: Apache-2.0
//
// Converts a Value to the shape and the type that an operation needs. Emits no
// store.
//
// A value that is uniform or affine over the warp is one scalar, its base. A
// value that is uniform or affine over each chunk is one scalar per chunk. A
// varying value is one vector per chunk. Operations run in the shape of their
// result.
//
// A varying predicate has two forms: a vector of i1 per chunk, and an i32 with
// one bit per lane. It is stored as the i32, so that combining predicates costs
// one instruction.
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
  // Returns the base of a chunk: the value of its first lane. REQUIRES: `value`
  // is not varying.
  llvm::Value* Base(const Value& value, int chunk) const;
  // Returns a chunk of the value as a vector, whatever its shape.
  llvm::Value* Vector(const Value& value, int chunk) const;
  // Returns the value in another, less specific shape that it has as well.
  // REQUIRES: `value` is not varying, unless `shape` is its shape.
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
