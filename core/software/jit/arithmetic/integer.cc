// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/arithmetic/integer.h"

#include "core/software/jit/arithmetic/bits.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;

namespace {

llvm::Value* MinMaxInteger(Builder& ir, const Instruction& instruction,
                           bool is_signed, llvm::Value* a, llvm::Value* b) {
  namespace Intrinsic = llvm::Intrinsic;
  const bool min = instruction.opcode() == Opcode::kMin;
  llvm::Value* result = ir.CreateBinaryIntrinsic(
      min ? (is_signed ? Intrinsic::smin : Intrinsic::umin)
          : (is_signed ? Intrinsic::smax : Intrinsic::umax),
      a, b);
  if (!instruction.modifiers.Has(Modifier::kRelu)) return result;
  return ir.CreateBinaryIntrinsic(Intrinsic::smax, result,
                                  llvm::Constant::getNullValue(a->getType()));
}

// No CPU divides vectors of integers. A double holds 32 bits exactly, and the
// nearest double to a quotient of such is not past the next integer.
llvm::Value* QuotientOfVectors(Builder& ir, bool is_signed, llvm::Value* a,
                               llvm::Value* b) {
  llvm::Type* wide = ir.Like(a, ir.getDoubleTy());
  auto widen = [&](llvm::Value* value) {
    return is_signed ? ir.CreateSIToFP(value, wide)
                     : ir.CreateUIToFP(value, wide);
  };
  llvm::Value* quotient = ir.CreateUnaryIntrinsic(
      llvm::Intrinsic::trunc, ir.CreateFDiv(widen(a), widen(b)));
  // Added to 1.5 * 2^52, an integer is in the low bits.
  llvm::Value* shifted =
      ir.CreateFAdd(quotient, ir.DoubleLike(quotient, 0x1.8p52));
  return ir.CreateTrunc(ir.CreateBitCast(shifted, ir.Like(a, ir.getInt64Ty())),
                        a->getType());
}

// A loop over a grid that has a thread for each element divides to find that
// it need not go round again.
llvm::Value* QuotientUnlessLess(Builder& ir, llvm::Value* a, llvm::Value* b) {
  llvm::Value* less =
      ir.CreateBitCast(ir.CreateICmpULT(a, b), ir.getIntNTy(ir.lanes()));
  auto* before = ir.GetInsertBlock();
  auto* divide = ir.NewBlock("divide");
  auto* divided = ir.NewBlock("divided");
  ir.CreateCondBr(
      ir.CreateICmpEQ(less, llvm::Constant::getAllOnesValue(less->getType())),
      divided, divide);
  ir.SetInsertPoint(divide);
  llvm::Value* quotient = QuotientOfVectors(ir, false, a, b);
  ir.CreateBr(divided);
  ir.SetInsertPoint(divided);
  auto* result = ir.CreatePHI(a->getType(), 2);
  result->addIncoming(llvm::Constant::getNullValue(a->getType()), before);
  result->addIncoming(quotient, divide);
  return result;
}

// Scalars, 64-bit numbers and constant divisors are LLVM's: it multiplies by
// the inverse of a constant.
llvm::Value* Quotient(Builder& ir, bool is_signed, llvm::Value* a,
                      llvm::Value* b) {
  if (!a->getType()->isVectorTy() || a->getType()->getScalarSizeInBits() > 32 ||
      llvm::isa<llvm::Constant>(b)) {
    return is_signed ? ir.CreateSDiv(a, b) : ir.CreateUDiv(a, b);
  }
  return is_signed ? QuotientOfVectors(ir, is_signed, a, b)
                   : QuotientUnlessLess(ir, a, b);
}

// Division by zero gives all ones, for the remainder, too, as on an H200; the
// smallest number divided by -1 wraps. LLVM leaves both undefined, so the
// divisor is replaced by 1 there, and the result chosen afterwards.
llvm::Value* Divide(Builder& ir, const Instruction& instruction, llvm::Value* a,
                    llvm::Value* b) {
  const bool is_signed = ptx::IsSigned(instruction.type());
  const bool remainder = instruction.opcode() == Opcode::kRem;
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value* ones = llvm::Constant::getAllOnesValue(a->getType());
  llvm::Value* by_zero = ir.CreateICmpEQ(b, zero);
  llvm::Value* special = by_zero;
  llvm::Value* minus_one = nullptr;
  if (is_signed) {
    minus_one = ir.CreateICmpEQ(b, ones);
    special = ir.CreateOr(special, minus_one);
  }
  llvm::Value* divisor =
      ir.CreateSelect(special, llvm::ConstantInt::get(a->getType(), 1), b);
  llvm::Value* result = Quotient(ir, is_signed, a, divisor);
  if (remainder) result = ir.CreateSub(a, ir.CreateMul(result, divisor));
  if (is_signed && !remainder) {
    result = ir.CreateSelect(minus_one, ir.CreateNeg(a), result);
  }
  return ir.CreateSelect(by_zero, ones, result);
}

}  // namespace

llvm::Value* SumWith(Builder& ir, bool saturate, llvm::Value* a,
                     llvm::Value* b) {
  return saturate ? ir.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, a, b)
                  : ir.CreateAdd(a, b);
}

// .lo: the low half of the product, of any sign. .hi and .wide: in twice the
// width, the upper half or all of it.
llvm::Value* Multiply(Builder& ir, const Instruction& instruction,
                      llvm::Value* a, llvm::Value* b) {
  const bool wide = instruction.modifiers.Has(Modifier::kWide);
  const bool high = instruction.modifiers.Has(Modifier::kHi);
  if (!wide && !high) return ir.CreateMul(a, b);
  const int bits = ptx::BitsOf(instruction.type());
  llvm::Type* twice = ir.Like(a, ir.getIntNTy(2 * bits));
  const bool is_signed = ptx::IsSigned(instruction.type());
  auto extend = [&](llvm::Value* value) {
    return is_signed ? ir.CreateSExt(value, twice)
                     : ir.CreateZExt(value, twice);
  };
  llvm::Value* product = ir.CreateMul(extend(a), extend(b));
  if (wide) return product;
  return ir.CreateTrunc(ir.CreateLShr(product, bits), a->getType());
}

// LLVM's shifts are undefined beyond the width, so the count is clamped.
llvm::Value* Shift(Builder& ir, const Instruction& instruction, llvm::Value* a,
                   llvm::Value* count) {
  const int bits = ptx::BitsOf(instruction.type());
  llvm::Value* limit = llvm::ConstantInt::get(count->getType(), bits - 1);
  llvm::Value* clamped =
      ir.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, limit);
  clamped = ir.CreateZExtOrTrunc(clamped, a->getType());
  if (instruction.opcode() == Opcode::kShr &&
      ptx::IsSigned(instruction.type())) {
    return ir.CreateAShr(a, clamped);
  }
  llvm::Value* shifted = instruction.opcode() == Opcode::kShl
                             ? ir.CreateShl(a, clamped)
                             : ir.CreateLShr(a, clamped);
  return ir.CreateSelect(ir.CreateICmpUGT(count, limit),
                         llvm::Constant::getNullValue(a->getType()), shifted);
}

llvm::Value* ComputeInteger(Builder& ir, const Instruction& instruction,
                            Values in) {
  const bool is_signed = ptx::IsSigned(instruction.type());
  const bool saturate = instruction.modifiers.Has(Modifier::kSat);
  namespace Intrinsic = llvm::Intrinsic;
  switch (instruction.opcode()) {
    case Opcode::kAdd:
      return SumWith(ir, saturate, in[0], in[1]);
    case Opcode::kSub:
      return saturate
                 ? ir.CreateBinaryIntrinsic(Intrinsic::ssub_sat, in[0], in[1])
                 : ir.CreateSub(in[0], in[1]);
    case Opcode::kMul:
      return Multiply(ir, instruction, in[0], in[1]);
    case Opcode::kMad:
      return SumWith(ir, saturate, Multiply(ir, instruction, in[0], in[1]),
                     in[2]);
    case Opcode::kDiv:
    case Opcode::kRem:
      return Divide(ir, instruction, in[0], in[1]);
    case Opcode::kNeg:
      return ir.CreateNeg(in[0]);
    case Opcode::kAbs:
      return ir.CreateBinaryIntrinsic(Intrinsic::abs, in[0], ir.getFalse());
    case Opcode::kMin:
    case Opcode::kMax:
      return MinMaxInteger(ir, instruction, is_signed, in[0], in[1]);
    default:
      return ComputeBits(ir, instruction, in);
  }
}

// u16x2, s16x2: a vector of n words is one of 2n halves, which no carry leaves.
llvm::Value* ComputeIntegerPairs(Builder& ir, const Instruction& instruction,
                                 Values in) {
  llvm::SmallVector<llvm::Value*, 2> halves;
  llvm::Type* type = in[0]->getType();
  const unsigned count = type->isVectorTy() ? 2 * ir.lanes() : 2;
  for (llvm::Value* value : in) {
    halves.push_back(ir.CreateBitCast(
        value, llvm::FixedVectorType::get(ir.getInt16Ty(), count)));
  }
  const bool is_signed = ptx::IsSigned(ptx::HalfOf(instruction.type()));
  llvm::Value* result = nullptr;
  switch (instruction.opcode()) {
    case Opcode::kAdd:
      result = ir.CreateAdd(halves[0], halves[1]);
      break;
    case Opcode::kMin:
    case Opcode::kMax:
      result = MinMaxInteger(ir, instruction, is_signed, halves[0], halves[1]);
      break;
    default:
      return nullptr;
  }
  return ir.CreateBitCast(result, type);
}

}  // namespace holdfast::software::jit
