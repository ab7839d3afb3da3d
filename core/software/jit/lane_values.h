// SPDX-License-Identifier: Apache-2.0
//
// Converts a Value to the shape and the type that an operation needs. The
// emitted code stores nothing to memory.
//
// A value that is uniform or affine over the warp is one scalar, its base. A
// value that is uniform or affine over each chunk is one scalar for each chunk.
// A varying value is one vector for each chunk. Operations run in the shape of
// their result.
//
// A varying predicate has two forms: a vector of i1 for each chunk, and an i32
// with one bit for each lane. It is stored as the i32, so that one instruction
// combines two predicates.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_LANE_VALUES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_LANE_VALUES_H_

#include "core/software/jit/arithmetic/builder.h"
#include "core/software/jit/value.h"

namespace holdfast::software::jit {

class LaneValues {
 public:
  explicit LaneValues(Builder& b)
      : b_(b), lanes_(b.lanes()), chunks_(analysis::kWarpLanes / b.lanes()) {}

  int lanes() const { return lanes_; }    // the lanes of a chunk
  int chunks() const { return chunks_; }  // the chunks of a warp

  // Returns the number of scalars or vectors of a value of this shape.
  int PartsOf(const analysis::LaneShape& shape) const;
  // Returns the value that is `scalar` in all lanes.
  Value Uniform(ptx::Type type, llvm::Value* scalar) const;
  // Returns the base of a chunk: the value of its first lane. REQUIRES: `value`
  // is not varying.
  llvm::Value* Base(const Value& value, int chunk) const;
  // Returns a chunk of the value as a vector, whatever its shape.
  llvm::Value* Vector(const Value& value, int chunk) const;
  // Returns the value in another shape, which describes the value less exactly.
  // REQUIRES: `value` is not varying, unless `shape` is its shape.
  Value Reshape(const Value& value, const analysis::LaneShape& shape) const;
  // Returns the bits of the value as another type. A narrower type has the low
  // bits. A wider type has the sign-extended number if the value's type is
  // signed, otherwise the zero-extended number.
  Value As(const Value& value, ptx::Type type) const;

  // Returns the mask of a chunk, <lanes x i1>, from `bits` (i32), which has one
  // bit for each lane of the warp.
  llvm::Value* ChunkMask(llvm::Value* bits, int chunk) const;
  // Returns, in both forms, the varying predicate with one bit of `bits` (i32)
  // for each lane.
  Value PredicateOf(llvm::Value* bits) const;
  // Returns the predicate as an i32 with one bit for each lane.
  llvm::Value* BitsOfPredicate(const Value& predicate) const;
  // Returns an i1 that is true if a varying predicate is `value` in every lane.
  // This is cheaper than to collect the bits.
  llvm::Value* AllAre(const Value& predicate, bool value) const;

  // Returns the numbers of a chunk's lanes within the warp, <lanes x i32>.
  llvm::Value* LaneNumbers(int chunk) const;
  // Returns address + `bytes` for each lane.
  Value Displaced(const Value& address, uint64_t bytes) const;
  // Returns the pointer for an address, or the vector of pointers for a vector
  // of addresses.
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
