// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;

namespace {

using Values = absl::Span<llvm::Value* const>;

}  // namespace

// Both halves of .u16x2 or .s16x2 at once.
llvm::Value* KernelEmitter::ComputeIntegerPairs(const Instruction& instruction,
                                                Values in) {
  llvm::SmallVector<llvm::Value*, 2> halves;
  llvm::Type* type = in[0]->getType();
  const unsigned count = type->isVectorTy() ? 2 * lanes_ : 2;
  for (llvm::Value* value : in) {
    halves.push_back(b_.CreateBitCast(
        value, llvm::FixedVectorType::get(b_.getInt16Ty(), count)));
  }
  const bool is_signed = ptx::IsSigned(ptx::HalfOf(instruction.type()));
  llvm::Value* result = nullptr;
  switch (instruction.opcode()) {
    case Opcode::kAdd:
      result = b_.CreateAdd(halves[0], halves[1]);
      break;
    case Opcode::kMin:
    case Opcode::kMax:
      result = MinMaxInteger(instruction, is_signed, halves[0], halves[1]);
      break;
    default:
      return nullptr;
  }
  return b_.CreateBitCast(result, type);
}

llvm::Value* KernelEmitter::MinMaxInteger(const Instruction& instruction,
                                          bool is_signed, llvm::Value* a,
                                          llvm::Value* b) {
  namespace Intrinsic = llvm::Intrinsic;
  const bool min = instruction.opcode() == Opcode::kMin;
  llvm::Value* result = b_.CreateBinaryIntrinsic(
      min ? (is_signed ? Intrinsic::smin : Intrinsic::umin)
          : (is_signed ? Intrinsic::smax : Intrinsic::umax),
      a, b);
  if (!instruction.modifiers.Has(Modifier::kRelu)) return result;
  return b_.CreateBinaryIntrinsic(Intrinsic::smax, result,
                                  llvm::Constant::getNullValue(a->getType()));
}

llvm::Value* KernelEmitter::ComputeInteger(const Instruction& instruction,
                                           Values in) {
  const bool is_signed = ptx::IsSigned(instruction.type());
  const bool saturate = instruction.modifiers.Has(Modifier::kSat);
  namespace Intrinsic = llvm::Intrinsic;
  switch (instruction.opcode()) {
    case Opcode::kAdd:
      return SumWith(saturate, in[0], in[1]);
    case Opcode::kSub:
      return saturate
                 ? b_.CreateBinaryIntrinsic(Intrinsic::ssub_sat, in[0], in[1])
                 : b_.CreateSub(in[0], in[1]);
    case Opcode::kMul:
      return Multiply(instruction, in[0], in[1]);
    case Opcode::kMad:
      return SumWith(saturate, Multiply(instruction, in[0], in[1]), in[2]);
    case Opcode::kDiv:
    case Opcode::kRem:
      return Divide(instruction, in[0], in[1]);
    case Opcode::kNeg:
      return b_.CreateNeg(in[0]);
    case Opcode::kAbs:
      return b_.CreateBinaryIntrinsic(Intrinsic::abs, in[0], b_.getFalse());
    case Opcode::kMin:
    case Opcode::kMax:
      return MinMaxInteger(instruction, is_signed, in[0], in[1]);
    default:
      return ComputeBits(instruction, in);
  }
}

llvm::Value* KernelEmitter::SumWith(bool saturate, llvm::Value* a,
                                    llvm::Value* b) {
  return saturate ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::sadd_sat, a, b)
                  : b_.CreateAdd(a, b);
}

llvm::Value* KernelEmitter::Multiply(const Instruction& instruction,
                                     llvm::Value* a, llvm::Value* b) {
  const bool wide = instruction.modifiers.Has(Modifier::kWide);
  const bool high = instruction.modifiers.Has(Modifier::kHi);
  if (!wide && !high) return b_.CreateMul(a, b);
  const int bits = ptx::BitsOf(instruction.type());
  llvm::Type* twice = Like(a, b_.getIntNTy(2 * bits));
  const bool is_signed = ptx::IsSigned(instruction.type());
  auto extend = [&](llvm::Value* value) {
    return is_signed ? b_.CreateSExt(value, twice)
                     : b_.CreateZExt(value, twice);
  };
  llvm::Value* product = b_.CreateMul(extend(a), extend(b));
  if (wide) return product;
  return b_.CreateTrunc(b_.CreateLShr(product, bits), a->getType());
}

llvm::Value* KernelEmitter::Quotient(bool is_signed, llvm::Value* a,
                                     llvm::Value* b) {
  if (!a->getType()->isVectorTy() || a->getType()->getScalarSizeInBits() > 32 ||
      llvm::isa<llvm::Constant>(b)) {
    return is_signed ? b_.CreateSDiv(a, b) : b_.CreateUDiv(a, b);
  }
  return is_signed ? QuotientOfVectors(is_signed, a, b)
                   : QuotientUnlessLess(a, b);
}

// A loop over a grid that has a thread for each element divides to find that
// it need not go round again.
llvm::Value* KernelEmitter::QuotientUnlessLess(llvm::Value* a, llvm::Value* b) {
  llvm::Value* less =
      b_.CreateBitCast(b_.CreateICmpULT(a, b), b_.getIntNTy(lanes_));
  auto* before = b_.GetInsertBlock();
  auto* divide = NewBlock("divide");
  auto* divided = NewBlock("divided");
  b_.CreateCondBr(
      b_.CreateICmpEQ(less, llvm::Constant::getAllOnesValue(less->getType())),
      divided, divide);
  b_.SetInsertPoint(divide);
  llvm::Value* quotient = QuotientOfVectors(false, a, b);
  b_.CreateBr(divided);
  b_.SetInsertPoint(divided);
  auto* result = b_.CreatePHI(a->getType(), 2);
  result->addIncoming(llvm::Constant::getNullValue(a->getType()), before);
  result->addIncoming(quotient, divide);
  return result;
}

// No CPU divides vectors of integers. A double holds 32 bits exactly, and the
// nearest double to a quotient of such is not past the next integer.
llvm::Value* KernelEmitter::QuotientOfVectors(bool is_signed, llvm::Value* a,
                                              llvm::Value* b) {
  llvm::Type* wide = Like(a, b_.getDoubleTy());
  auto widen = [&](llvm::Value* value) {
    return is_signed ? b_.CreateSIToFP(value, wide)
                     : b_.CreateUIToFP(value, wide);
  };
  llvm::Value* quotient = b_.CreateUnaryIntrinsic(
      llvm::Intrinsic::trunc, b_.CreateFDiv(widen(a), widen(b)));
  // Added to 1.5 * 2^52, an integer is in the low bits.
  llvm::Value* shifted =
      b_.CreateFAdd(quotient, DoubleLike(quotient, 0x1.8p52));
  return b_.CreateTrunc(b_.CreateBitCast(shifted, Like(a, b_.getInt64Ty())),
                        a->getType());
}

// Division by zero gives all ones, for the remainder, too, as on an H200; the
// smallest number divided by -1 wraps.
llvm::Value* KernelEmitter::Divide(const Instruction& instruction,
                                   llvm::Value* a, llvm::Value* b) {
  const bool is_signed = ptx::IsSigned(instruction.type());
  const bool remainder = instruction.opcode() == Opcode::kRem;
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value* ones = llvm::Constant::getAllOnesValue(a->getType());
  llvm::Value* by_zero = b_.CreateICmpEQ(b, zero);
  llvm::Value* special = by_zero;
  llvm::Value* minus_one = nullptr;
  if (is_signed) {
    minus_one = b_.CreateICmpEQ(b, ones);
    special = b_.CreateOr(special, minus_one);
  }
  llvm::Value* divisor =
      b_.CreateSelect(special, llvm::ConstantInt::get(a->getType(), 1), b);
  llvm::Value* result = Quotient(is_signed, a, divisor);
  if (remainder) result = b_.CreateSub(a, b_.CreateMul(result, divisor));
  if (is_signed && !remainder) {
    result = b_.CreateSelect(minus_one, b_.CreateNeg(a), result);
  }
  return b_.CreateSelect(by_zero, ones, result);
}

// Counts beyond the width shift everything out.
llvm::Value* KernelEmitter::Shift(const Instruction& instruction,
                                  llvm::Value* a, llvm::Value* count) {
  const int bits = ptx::BitsOf(instruction.type());
  llvm::Value* limit = llvm::ConstantInt::get(count->getType(), bits - 1);
  llvm::Value* clamped =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, limit);
  clamped = b_.CreateZExtOrTrunc(clamped, a->getType());
  if (instruction.opcode() == Opcode::kShr &&
      ptx::IsSigned(instruction.type())) {
    return b_.CreateAShr(a, clamped);
  }
  llvm::Value* shifted = instruction.opcode() == Opcode::kShl
                             ? b_.CreateShl(a, clamped)
                             : b_.CreateLShr(a, clamped);
  return b_.CreateSelect(b_.CreateICmpUGT(count, limit),
                         llvm::Constant::getNullValue(a->getType()), shifted);
}

}  // namespace holdfast::software::jit
