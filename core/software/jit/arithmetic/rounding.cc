// SPDX-License-Identifier: Apache-2.0
//
// Directed rounding without changing the CPU's mode, which is one for all lanes
// and dear to switch. The operation is done in double, where a product of
// floats is exact; a sum may not be, so its error is computed as well (Knuth's
// TwoSum). The sign of sum + error against the nearest float tells on which
// side of the exact result the float lies, and the answer is that float or its
// neighbour, whose bits differ by one.
#include "core/software/jit/arithmetic/rounding.h"

namespace holdfast::software::jit {

using ptx::Modifier;

namespace {

// A float, how it lies to the exact result, and the floats beside it.
struct NearFloat {
  llvm::Value* bits;
  llvm::Value* above;  // the float is too high
  llvm::Value* below;
  llvm::Value* negative;
  llvm::Value* next_down;
  llvm::Value* next_up;
  llvm::Value* next_in;  // towards zero, or zero
};

// From the double result and its error, which are exact together. The float
// nearest to the exact result is off by at most one place.
NearFloat RoundNear(Builder& ir, llvm::Value* a, llvm::Value* b, llvm::Value* c,
                    bool negative_zero) {
  llvm::Type* wide = ir.Like(a, ir.getDoubleTy());
  llvm::Type* word = ir.Like(a, ir.getInt32Ty());
  llvm::Value* zero = llvm::Constant::getNullValue(wide);
  auto extend = [&](llvm::Value* value) { return ir.CreateFPExt(value, wide); };
  llvm::Value* product =
      b == nullptr ? extend(a) : ir.CreateFMul(extend(a), extend(b));
  llvm::Value* sum = product;
  llvm::Value* error = zero;
  if (c != nullptr) {
    llvm::Value* addend = extend(c);
    sum = ir.CreateFAdd(product, addend);
    llvm::Value* other = ir.CreateFSub(sum, product);
    error = ir.CreateFAdd(ir.CreateFSub(product, ir.CreateFSub(sum, other)),
                          ir.CreateFSub(addend, other));
    if (negative_zero) {
      // An exact cancellation is -0.
      llvm::Type* integer = ir.Like(a, ir.getInt64Ty());
      llvm::Value* signs = ir.CreateXor(ir.CreateBitCast(product, integer),
                                        ir.CreateBitCast(addend, integer));
      llvm::Value* differ =
          ir.CreateICmpSLT(signs, llvm::Constant::getNullValue(integer));
      llvm::Value* cancels = ir.CreateAnd(differ, ir.CreateFCmpOEQ(sum, zero));
      sum = ir.CreateSelect(cancels, llvm::ConstantFP::get(wide, -0.0), sum);
    }
  }
  llvm::Value* nearest = ir.CreateFPTrunc(sum, a->getType());
  llvm::Value* gap = ir.CreateFSub(sum, extend(nearest));
  llvm::Value* side = ir.CreateSelect(ir.CreateFCmpOEQ(gap, zero), error, gap);
  NearFloat result;
  result.bits = ir.CreateBitCast(nearest, word);
  result.above = ir.CreateFCmpOLT(side, zero);
  result.below = ir.CreateFCmpOGT(side, zero);
  result.negative =
      ir.CreateICmpSLT(result.bits, llvm::Constant::getNullValue(word));
  // One place away from zero, and towards it.
  llvm::Value* one = llvm::ConstantInt::get(word, 1);
  llvm::Value* out = ir.CreateAdd(result.bits, one);
  llvm::Value* in = ir.CreateSub(result.bits, one);
  llvm::Value* is_zero = ir.CreateICmpEQ(ir.CreateShl(result.bits, 1),
                                         llvm::Constant::getNullValue(word));
  result.next_down =
      ir.CreateSelect(is_zero, llvm::ConstantInt::get(word, 0x80000001),
                      ir.CreateSelect(result.negative, out, in));
  result.next_up =
      ir.CreateSelect(is_zero, one, ir.CreateSelect(result.negative, in, out));
  result.next_in = ir.CreateSelect(is_zero, result.bits, in);
  return result;
}

}  // namespace

// rm wants the float below or at the exact result, rp the one above or at it,
// rz the one nearer to zero: each steps back if the nearest float has gone too
// far.
llvm::Value* RoundDirected(Builder& ir, Modifier rounding, llvm::Value* a,
                           llvm::Value* b, llvm::Value* c) {
  const NearFloat near = RoundNear(ir, a, b, c, rounding == Modifier::kRm);
  llvm::Value* bits = nullptr;
  if (rounding == Modifier::kRm) {
    bits = ir.CreateSelect(near.above, near.next_down, near.bits);
  } else if (rounding == Modifier::kRp) {
    bits = ir.CreateSelect(near.below, near.next_up, near.bits);
  } else {
    llvm::Value* too_far =
        ir.CreateSelect(near.negative, near.below, near.above);
    bits = ir.CreateSelect(too_far, near.next_in, near.bits);
  }
  return ir.CreateBitCast(bits, a->getType());
}

// To odd: if the result is not exact, the one of its two neighbours whose last
// bit is 1. So a later rounding to fewer digits never takes an inexact result
// for a tie.
llvm::Value* RoundOdd(Builder& ir, llvm::Value* a, llvm::Value* b,
                      llvm::Value* c) {
  const NearFloat near = RoundNear(ir, a, b, c, false);
  llvm::Value* zero = llvm::Constant::getNullValue(near.bits->getType());
  llvm::Value* even = ir.CreateICmpEQ(
      ir.CreateAnd(near.bits, ir.ConstantLike(near.bits, 1)), zero);
  llvm::Value* bits = ir.CreateSelect(ir.CreateAnd(even, near.above),
                                      near.next_down, near.bits);
  bits = ir.CreateSelect(ir.CreateAnd(even, near.below), near.next_up, bits);
  return ir.CreateBitCast(bits, a->getType());
}

}  // namespace holdfast::software::jit
