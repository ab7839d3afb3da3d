// SPDX-License-Identifier: Apache-2.0
//
// CPUs compute no f16 or bf16 here: halves become floats, the operation is done
// once in float, and the result is rounded to a half. The result has the bits
// of an operation that is exact and rounded once, if float has enough digits (p
// >= 2q + 2: 24 of 11 and 8, for +, - and *), or if float was rounded to odd,
// which keeps what the second rounding needs to know (RoundOdd).
#include "core/software/jit/arithmetic/half.h"

#include "core/software/jit/arithmetic/approximation.h"
#include "core/software/jit/arithmetic/float.h"
#include "core/software/jit/arithmetic/rounding.h"
#include "llvm/IR/Intrinsics.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

namespace {

namespace Intrinsic = llvm::Intrinsic;

// The one that instructions on f16 and bf16 give, whatever NaN they take.
constexpr uint64_t kNan = 0x7FFF;

// A float that rounds to the result as the exact result would.
llvm::Value* HalfAsFloat(Builder& ir, const Instruction& instruction, Type type,
                         Values in) {
  switch (instruction.opcode()) {
    // Float has more than twice the digits, so these round as if once.
    case Opcode::kAdd:
      return ir.CreateFAdd(in[0], in[1]);
    case Opcode::kSub:
      return ir.CreateFSub(in[0], in[1]);
    case Opcode::kMul:
      // A product of f16 is exact; one of bf16 may be too small for that.
      return type == Type::kF16 ? ir.CreateFMul(in[0], in[1])
                                : RoundOdd(ir, in[0], in[1], nullptr);
    case Opcode::kFma:
      return RoundOdd(ir, in[0], in[1], in[2]);
    case Opcode::kMin:
    case Opcode::kMax:
      return MinMax(ir, instruction, in[0], in[1]);
    case Opcode::kEx2:
    case Opcode::kTanh:
      return Approximate(ir, instruction, in[0]);
    default:
      return nullptr;
  }
}

// Returns `result`, or the NaN of GPUs if `bits` are one.
llvm::Value* OrNan(Builder& ir, Type type, llvm::Value* bits,
                   llvm::Value* result) {
  llvm::Value* magnitude = ir.CreateAnd(bits, ir.ConstantLike(bits, 0x7FFF));
  const uint64_t infinity = type == Type::kF16 ? 0x7C00 : 0x7F80;
  return ir.CreateSelect(
      ir.CreateICmpUGT(magnitude, ir.ConstantLike(bits, infinity)),
      ir.ConstantLike(bits, kNan), result);
}

llvm::Value* ComputeHalf(Builder& ir, const Instruction& instruction, Type type,
                         Values operands) {
  const ptx::Modifiers& words = instruction.modifiers;
  const bool ftz = words.Has(Modifier::kFtz) && type == Type::kF16;
  llvm::SmallVector<llvm::Value*, 3> bits(operands.begin(), operands.end());
  if (ftz) {
    for (llvm::Value*& value : bits) value = FlushHalf(ir, value);
  }
  if (instruction.opcode() == Opcode::kNeg) {
    return OrNan(ir, type, bits[0],
                 ir.CreateXor(bits[0], ir.ConstantLike(bits[0], 0x8000)));
  }
  if (instruction.opcode() == Opcode::kAbs) {
    return OrNan(ir, type, bits[0],
                 ir.CreateAnd(bits[0], ir.ConstantLike(bits[0], 0x7FFF)));
  }
  llvm::SmallVector<llvm::Value*, 3> in;
  for (llvm::Value* value : bits) in.push_back(FloatOfHalf(ir, type, value));
  llvm::Value* value = HalfAsFloat(ir, instruction, type, in);
  if (value == nullptr) return nullptr;
  if (ftz) {
    // Decided before digits are lost for being subnormal.
    llvm::Type* single = value->getType();
    llvm::Value* large = FloatOfHalf(
        ir, type,
        HalfOfFloat(
            ir, type,
            ir.CreateFMul(value, llvm::ConstantFP::get(single, 0x1p8))));
    llvm::Value* zero = ir.CreateBinaryIntrinsic(
        Intrinsic::copysign, llvm::ConstantFP::get(single, 0.0), value);
    llvm::Value* tiny =
        ir.CreateFCmpOLT(ir.CreateUnaryIntrinsic(Intrinsic::fabs, large),
                         llvm::ConstantFP::get(single, 0x1p-6));
    value = ir.CreateSelect(tiny, zero, value);
  }
  if (words.Has(Modifier::kSat)) value = Saturate(ir, value);
  if (words.Has(Modifier::kRelu)) {
    llvm::Value* zero = llvm::Constant::getNullValue(value->getType());
    value = ir.CreateSelect(ir.CreateFCmpOLE(value, zero), zero, value);
  }
  return HalfOfFloat(ir, type, value);
}

}  // namespace

llvm::Value* FloatOfHalf(Builder& ir, Type type, llvm::Value* bits) {
  llvm::Type* target = ir.Like(bits, ir.getFloatTy());
  if (type == Type::kF16) {
    return ir.CreateFPExt(ir.CreateBitCast(bits, ir.Like(bits, ir.getHalfTy())),
                          target);
  }
  llvm::Value* word = ir.CreateZExt(bits, ir.Like(bits, ir.getInt32Ty()));
  return ir.CreateBitCast(ir.CreateShl(word, 16), target);
}

// f16 by the CPU's conversion, which would keep digits of a NaN. bf16 is the
// upper half of a float: to nearest even, by adding half of the last place that
// stays, less one if that place is even; NaN could overflow. One NaN is chosen
// for all.
llvm::Value* HalfOfFloat(Builder& ir, Type type, llvm::Value* value) {
  llvm::Type* target = ir.Like(value, ir.getInt16Ty());
  if (type == Type::kF16) {
    llvm::Value* bits = ir.CreateBitCast(
        ir.CreateFPTrunc(value, ir.Like(value, ir.getHalfTy())), target);
    return ir.CreateSelect(ir.CreateFCmpUNO(value, value),
                           ir.ConstantLike(bits, kNan), bits);
  }
  llvm::Type* word = ir.Like(value, ir.getInt32Ty());
  auto constant = [&](uint32_t bits) {
    return llvm::ConstantInt::get(word, bits);
  };
  llvm::Value* bits = ir.CreateBitCast(value, word);
  llvm::Value* odd = ir.CreateAnd(ir.CreateLShr(bits, 16), constant(1));
  llvm::Value* rounded = ir.CreateLShr(
      ir.CreateAdd(bits, ir.CreateAdd(odd, constant(0x7FFF))), 16);
  rounded = ir.CreateSelect(ir.CreateFCmpUNO(value, value), constant(0x7FFF),
                            rounded);
  return ir.CreateTrunc(rounded, target);
}

// A subnormal f16 has an exponent of zeros; its sign stays.
llvm::Value* FlushHalf(Builder& ir, llvm::Value* bits) {
  llvm::Value* zero = llvm::Constant::getNullValue(bits->getType());
  llvm::Value* small =
      ir.CreateICmpEQ(ir.CreateAnd(bits, ir.ConstantLike(bits, 0x7C00)), zero);
  return ir.CreateSelect(
      small, ir.CreateAnd(bits, ir.ConstantLike(bits, 0x8000)), bits);
}

llvm::Value* HalfAt(Builder& ir, llvm::Value* pair, int shift) {
  return ir.CreateTrunc(ir.CreateLShr(pair, shift),
                        ir.Like(pair, ir.getInt16Ty()));
}

llvm::Value* ComputeHalves(Builder& ir, const Instruction& instruction,
                           Values in) {
  const Type half = ptx::HalfOf(instruction.type());
  if (half == Type::kNone) {
    return ComputeHalf(ir, instruction, instruction.type(), in);
  }
  llvm::Value* result = nullptr;
  for (const int shift : {0, 16}) {
    llvm::SmallVector<llvm::Value*, 3> parts;
    for (llvm::Value* value : in) parts.push_back(HalfAt(ir, value, shift));
    llvm::Value* part = ComputeHalf(ir, instruction, half, parts);
    if (part == nullptr) return nullptr;
    part = ir.CreateShl(ir.CreateZExt(part, in[0]->getType()), shift);
    result = result == nullptr ? part : ir.CreateOr(result, part);
  }
  return result;
}

}  // namespace holdfast::software::jit
