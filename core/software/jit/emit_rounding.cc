// SPDX-License-Identifier: Apache-2.0
//
// Sums and products of float in other roundings than the processor's: from the
// double result and its error, which are exact together.
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using ptx::Modifier;

// a * b + c; `b` null: a + c; `c` null: a * b. The float nearest to the exact
// result is off by at most one place.
KernelEmitter::NearFloat KernelEmitter::RoundNear(llvm::Value* a,
                                                  llvm::Value* b,
                                                  llvm::Value* c,
                                                  bool negative_zero) {
  llvm::Type* wide = Like(a, b_.getDoubleTy());
  llvm::Type* word = Like(a, b_.getInt32Ty());
  llvm::Value* zero = llvm::Constant::getNullValue(wide);
  auto extend = [&](llvm::Value* value) { return b_.CreateFPExt(value, wide); };
  llvm::Value* product =
      b == nullptr ? extend(a) : b_.CreateFMul(extend(a), extend(b));
  llvm::Value* sum = product;
  llvm::Value* error = zero;
  if (c != nullptr) {
    llvm::Value* addend = extend(c);
    sum = b_.CreateFAdd(product, addend);
    llvm::Value* other = b_.CreateFSub(sum, product);
    error = b_.CreateFAdd(b_.CreateFSub(product, b_.CreateFSub(sum, other)),
                          b_.CreateFSub(addend, other));
    if (negative_zero) {
      // What cancels out is -0.
      llvm::Type* integer = Like(a, b_.getInt64Ty());
      llvm::Value* signs = b_.CreateXor(b_.CreateBitCast(product, integer),
                                        b_.CreateBitCast(addend, integer));
      llvm::Value* differ =
          b_.CreateICmpSLT(signs, llvm::Constant::getNullValue(integer));
      llvm::Value* cancels = b_.CreateAnd(differ, b_.CreateFCmpOEQ(sum, zero));
      sum = b_.CreateSelect(cancels, llvm::ConstantFP::get(wide, -0.0), sum);
    }
  }
  llvm::Value* nearest = b_.CreateFPTrunc(sum, a->getType());
  llvm::Value* gap = b_.CreateFSub(sum, extend(nearest));
  llvm::Value* side = b_.CreateSelect(b_.CreateFCmpOEQ(gap, zero), error, gap);
  NearFloat result;
  result.bits = b_.CreateBitCast(nearest, word);
  result.above = b_.CreateFCmpOLT(side, zero);
  result.below = b_.CreateFCmpOGT(side, zero);
  result.negative =
      b_.CreateICmpSLT(result.bits, llvm::Constant::getNullValue(word));
  // One place away from zero, and towards it.
  llvm::Value* one = llvm::ConstantInt::get(word, 1);
  llvm::Value* out = b_.CreateAdd(result.bits, one);
  llvm::Value* in = b_.CreateSub(result.bits, one);
  llvm::Value* is_zero = b_.CreateICmpEQ(b_.CreateShl(result.bits, 1),
                                         llvm::Constant::getNullValue(word));
  result.next_down =
      b_.CreateSelect(is_zero, llvm::ConstantInt::get(word, 0x80000001),
                      b_.CreateSelect(result.negative, out, in));
  result.next_up =
      b_.CreateSelect(is_zero, one, b_.CreateSelect(result.negative, in, out));
  result.next_in = b_.CreateSelect(is_zero, result.bits, in);
  return result;
}

llvm::Value* KernelEmitter::RoundDirected(Modifier rounding, llvm::Value* a,
                                          llvm::Value* b, llvm::Value* c) {
  const NearFloat near = RoundNear(a, b, c, rounding == Modifier::kRm);
  llvm::Value* bits = nullptr;
  if (rounding == Modifier::kRm) {
    bits = b_.CreateSelect(near.above, near.next_down, near.bits);
  } else if (rounding == Modifier::kRp) {
    bits = b_.CreateSelect(near.below, near.next_up, near.bits);
  } else {
    llvm::Value* too_far =
        b_.CreateSelect(near.negative, near.below, near.above);
    bits = b_.CreateSelect(too_far, near.next_in, near.bits);
  }
  return b_.CreateBitCast(bits, a->getType());
}

// To the neighbour with an odd last place if the result is not exact: rounded
// again to fewer digits it is as the exact result would be.
llvm::Value* KernelEmitter::RoundOdd(llvm::Value* a, llvm::Value* b,
                                     llvm::Value* c) {
  const NearFloat near = RoundNear(a, b, c, false);
  llvm::Value* zero = llvm::Constant::getNullValue(near.bits->getType());
  llvm::Value* even = b_.CreateICmpEQ(
      b_.CreateAnd(near.bits, ConstantLike(near.bits, 1)), zero);
  llvm::Value* bits = b_.CreateSelect(b_.CreateAnd(even, near.above),
                                      near.next_down, near.bits);
  bits = b_.CreateSelect(b_.CreateAnd(even, near.below), near.next_up, bits);
  return b_.CreateBitCast(bits, a->getType());
}

}  // namespace holdfast::software::jit
