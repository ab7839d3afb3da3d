// SPDX-License-Identifier: Apache-2.0
//
// A warp is 32 lanes; a chunk is one vector of the CPU, of 16 lanes with
// AVX-512 and of 8 with AVX2, so that a warp has 2 or 4 chunks. A value, by its
// shape:
//
// shape              parts   lane i of chunk c holds
// uniform            1       part 0
// affine, wide       1       part 0 + (c * lanes + i) * stride
// uniform in chunks  chunks  part c
// affine in chunks   chunks  part c + i * stride
// varying            chunks  element i of vector c
//
// Changes of shape go towards varying alone: a varying value that happens to be
// uniform stays varying.
#include "core/software/jit/lane_values.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Type;

// How many scalars or vectors make up a value of this shape.
int LaneValues::PartsOf(const LaneShape& shape) const {
  return !shape.varying && shape.wide ? 1 : chunks_;
}

Value LaneValues::Uniform(Type type, llvm::Value* scalar) const {
  return Value{LaneShape{}, type, {scalar}};
}

// The scalar that a chunk's lanes count from.
// The base of a wide value is that of lane 0; chunk c begins c * lanes strides
// further on.
llvm::Value* LaneValues::Base(const Value& value, int chunk) const {
  if (!value.shape.wide) return value.parts[chunk];
  if (value.shape.stride == 0 || chunk == 0) return value.parts[0];
  llvm::Type* type = value.parts[0]->getType();
  return b_.CreateAdd(
      value.parts[0],
      llvm::ConstantInt::get(type, value.shape.stride * chunk * lanes_, true));
}

// A chunk of the value as a vector, whatever its shape.
llvm::Value* LaneValues::Vector(const Value& value, int chunk) const {
  if (value.shape.varying) return value.parts[chunk];
  llvm::Value* splat = b_.Splat(Base(value, chunk));
  if (value.shape.stride == 0) return splat;
  return b_.CreateAdd(
      splat, b_.Iota(splat->getType()->getScalarType(), value.shape.stride));
}

// To a shape that the value has, too: never from varying to another.
Value LaneValues::Reshape(const Value& value, const LaneShape& shape) const {
  if (value.shape == shape) return value;
  Value result{shape, value.type, {}};
  for (int c = 0; c < PartsOf(shape); ++c) {
    result.parts.push_back(shape.varying ? Vector(value, c) : Base(value, c));
  }
  return result;
}

// The same bits as another type; integers are widened by their own signedness.
// An affine value stays affine if it is only cut or renamed, since a truncated
// sum is the sum of truncated numbers. Widened, it would be wrong where a lane
// wraps, and as a float it is no sum: so it becomes varying.
Value LaneValues::As(const Value& value, Type type) const {
  const int from = ptx::BitsOf(value.type);
  const int to = ptx::BitsOf(type);
  llvm::Type* target = b_.TypeOf(type);
  llvm::Type* current = value.parts[0]->getType()->getScalarType();
  Value source = value;
  if (target == current) {
    source.type = type;
    return source;
  }
  const bool affine = !value.shape.varying && value.shape.stride != 0;
  if (affine && (to > from || !target->isIntegerTy())) {
    source = Reshape(value, LaneShape::Varying());
  }
  Value result{source.shape, type, {}};
  for (llvm::Value* part : source.parts) {
    const bool vector = part->getType()->isVectorTy();
    auto typed = [&](llvm::Type* t) { return vector ? b_.VectorOf(t) : t; };
    if (!current->isIntegerTy()) {
      part = b_.CreateBitCast(part, typed(b_.getIntNTy(from)));
    }
    if (from != to) {
      llvm::Type* integer = typed(b_.getIntNTy(to));
      part = ptx::IsSigned(value.type) ? b_.CreateSExtOrTrunc(part, integer)
                                       : b_.CreateZExtOrTrunc(part, integer);
    }
    result.parts.push_back(b_.CreateBitCast(part, typed(target)));
  }
  return result;
}

// A varying predicate, from one bit a lane.
Value LaneValues::PredicateOf(llvm::Value* bits) const {
  Value value{LaneShape::Varying(), Type::kPred, {}, bits};
  for (int c = 0; c < chunks_; ++c) value.parts.push_back(ChunkMask(bits, c));
  return value;
}

// Turns one bit a lane into a mask of a vector. With 16 lanes the bits are a
// mask register of AVX-512 as they are; with 8, a comparison spreads them.
llvm::Value* LaneValues::ChunkMask(llvm::Value* bits, int chunk) const {
  if (lanes_ == 16) {
    llvm::Value* part =
        b_.CreateTrunc(b_.CreateLShr(bits, 16 * chunk), b_.getInt16Ty());
    return b_.CreateBitCast(part, b_.VectorOf(b_.getInt1Ty()));
  }
  llvm::SmallVector<llvm::Constant*, 16> lane_bits;
  for (int i = 0; i < lanes_; ++i) {
    lane_bits.push_back(b_.getInt32(1u << (chunk * lanes_ + i)));
  }
  llvm::Value* selected =
      b_.CreateAnd(b_.Splat(bits), llvm::ConstantVector::get(lane_bits));
  return b_.CreateICmpNE(selected,
                         llvm::Constant::getNullValue(selected->getType()));
}

// The other way round: one bit a lane.
// Chunk c has the bits from c * lanes on.
llvm::Value* LaneValues::BitsOfPredicate(const Value& predicate) const {
  if (!predicate.shape.varying) {
    return b_.CreateSelect(predicate.parts[0], b_.I32(kAllLanes), b_.I32(0));
  }
  if (predicate.bits != nullptr) return predicate.bits;
  llvm::Value* bits = b_.I32(0);
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* chunk =
        b_.CreateBitCast(predicate.parts[c], b_.getIntNTy(lanes_));
    chunk = b_.CreateShl(b_.CreateZExt(chunk, b_.getInt32Ty()), c * lanes_);
    bits = b_.CreateOr(bits, chunk);
  }
  return bits;
}

// i1: whether a varying predicate has this value in every lane. Cheaper than
// to collect the bits.
// Chunks are joined as masks first, so that there is one move from a mask to a
// scalar instead of one a chunk.
llvm::Value* LaneValues::AllAre(const Value& predicate, bool value) const {
  llvm::Value* sum = predicate.bits;
  if (sum == nullptr) {
    sum = predicate.parts[0];
    for (int c = 1; c < chunks_; ++c) {
      llvm::Value* part = predicate.parts[c];
      sum = value ? b_.CreateAnd(sum, part) : b_.CreateOr(sum, part);
    }
    sum = b_.CreateBitCast(sum, b_.getIntNTy(lanes_));
  }
  llvm::Type* type = sum->getType();
  return b_.CreateICmpEQ(sum, value ? llvm::Constant::getAllOnesValue(type)
                                    : llvm::Constant::getNullValue(type));
}

// Lane numbers 0 to 31, as chunk `chunk`.
llvm::Value* LaneValues::LaneNumbers(int chunk) const {
  return b_.CreateAdd(b_.Iota(b_.getInt32Ty(), 1),
                      b_.Splat(b_.I32(chunk * lanes_)));
}

// Shape and stride stay: every base moves.
Value LaneValues::Displaced(const Value& address, uint64_t bytes) const {
  Value result = address;
  for (llvm::Value*& part : result.parts) {
    part = b_.CreateAdd(part, b_.ConstantLike(part, bytes));
  }
  return result;
}

llvm::Value* LaneValues::Pointer(llvm::Value* address) const {
  llvm::Type* pointer = b_.getPtrTy();
  if (address->getType()->isVectorTy()) pointer = b_.VectorOf(pointer);
  return b_.CreateIntToPtr(address, pointer);
}

// Returns the pointer of one lane. REQUIRES: the addresses are affine.
llvm::Value* LaneValues::LanePointer(const Value& address, int lane) const {
  const uint64_t offset = static_cast<uint64_t>(address.shape.stride) *
                          static_cast<uint64_t>(lane % lanes_);
  return Pointer(
      b_.CreateAdd(Base(address, lane / lanes_), b_.getInt64(offset)));
}

}  // namespace holdfast::software::jit
