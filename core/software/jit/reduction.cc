// SPDX-License-Identifier: Apache-2.0
//
// The chunks are joined to one vector of 32 lanes first, and LLVM reduces that:
// by halves, in logarithmic depth.
#include "core/software/jit/reduction.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;

// Lanes that do not take part count as the neutral element of the operation: 0
// for +, | and ^, all ones for &, the largest number for min, the smallest for
// max.
llvm::Value* Reduce(Builder& b, const Instruction& instruction,
                    const Value& value, llvm::Value* members) {
  const LaneValues v(b);
  const auto& words = instruction.modifiers;
  const bool is_signed = ptx::IsSigned(value.type);
  const unsigned bits = ptx::BitsOf(value.type);
  llvm::APInt neutral(bits, 0);
  llvm::Intrinsic::ID reduce = llvm::Intrinsic::vector_reduce_add;
  if (words.Has(Modifier::kMin)) {
    reduce = is_signed ? llvm::Intrinsic::vector_reduce_smin
                       : llvm::Intrinsic::vector_reduce_umin;
    neutral = is_signed ? llvm::APInt::getSignedMaxValue(bits)
                        : llvm::APInt::getMaxValue(bits);
  } else if (words.Has(Modifier::kMax)) {
    reduce = is_signed ? llvm::Intrinsic::vector_reduce_smax
                       : llvm::Intrinsic::vector_reduce_umax;
    if (is_signed) neutral = llvm::APInt::getSignedMinValue(bits);
  } else if (words.Has(Modifier::kAnd)) {
    reduce = llvm::Intrinsic::vector_reduce_and;
    neutral = llvm::APInt::getAllOnes(bits);
  } else if (words.Has(Modifier::kOr)) {
    reduce = llvm::Intrinsic::vector_reduce_or;
  } else if (words.Has(Modifier::kXor)) {
    reduce = llvm::Intrinsic::vector_reduce_xor;
  }
  // All lanes as one vector.
  llvm::SmallVector<llvm::Value*, 4> parts;
  for (int c = 0; c < v.chunks(); ++c) {
    parts.push_back(b.CreateSelect(v.ChunkMask(members, c), v.Vector(value, c),
                                   b.Splat(b.getInt(neutral))));
  }
  while (parts.size() > 1) {
    llvm::SmallVector<llvm::Value*, 4> wider;
    for (size_t i = 0; i < parts.size(); i += 2) {
      const auto lanes = llvm::cast<llvm::FixedVectorType>(parts[i]->getType())
                             ->getNumElements();
      llvm::SmallVector<int, 32> order;
      for (unsigned lane = 0; lane < 2 * lanes; ++lane) {
        order.push_back(static_cast<int>(lane));
      }
      wider.push_back(b.CreateShuffleVector(parts[i], parts[i + 1], order));
    }
    parts = wider;
  }
  return b.CreateUnaryIntrinsic(reduce, parts[0]);
}

}  // namespace holdfast::software::jit
