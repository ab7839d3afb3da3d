// SPDX-License-Identifier: Apache-2.0
//
// f16 and bf16, alone and in pairs. Registers hold their bits; arithmetic is
// done in float or double such that the one rounding at the end is the only
// one that shows.
#include "core/software/jit/kernel_emitter.h"
#include "llvm/IR/Intrinsics.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

namespace {

using Values = absl::Span<llvm::Value* const>;
namespace Intrinsic = llvm::Intrinsic;

}  // namespace

// The bits of an f16 or bf16 as a float; exact.
llvm::Value* KernelEmitter::FloatOfHalf(Type type, llvm::Value* bits) {
  llvm::Type* target = Like(bits, b_.getFloatTy());
  if (type == Type::kF16) {
    return b_.CreateFPExt(b_.CreateBitCast(bits, Like(bits, b_.getHalfTy())),
                          target);
  }
  llvm::Value* word = b_.CreateZExt(bits, Like(bits, b_.getInt32Ty()));
  return b_.CreateBitCast(b_.CreateShl(word, 16), target);
}

// The nearest, ties to even.
llvm::Value* KernelEmitter::HalfOfFloat(Type type, llvm::Value* value) {
  llvm::Type* target = Like(value, b_.getInt16Ty());
  if (type == Type::kF16) {
    return b_.CreateBitCast(
        b_.CreateFPTrunc(value, Like(value, b_.getHalfTy())), target);
  }
  llvm::Type* word = Like(value, b_.getInt32Ty());
  auto constant = [&](uint32_t bits) {
    return llvm::ConstantInt::get(word, bits);
  };
  llvm::Value* bits = b_.CreateBitCast(value, word);
  llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), constant(1));
  llvm::Value* rounded = b_.CreateLShr(
      b_.CreateAdd(bits, b_.CreateAdd(odd, constant(0x7FFF))), 16);
  rounded = b_.CreateSelect(b_.CreateFCmpUNO(value, value), constant(0x7FFF),
                            rounded);
  return b_.CreateTrunc(rounded, target);
}

// A subnormal f16 as the zero of its sign.
llvm::Value* KernelEmitter::FlushHalf(llvm::Value* bits) {
  llvm::Value* zero = llvm::Constant::getNullValue(bits->getType());
  llvm::Value* small =
      b_.CreateICmpEQ(b_.CreateAnd(bits, ConstantLike(bits, 0x7C00)), zero);
  return b_.CreateSelect(small, b_.CreateAnd(bits, ConstantLike(bits, 0x8000)),
                         bits);
}

// Both halves of packed registers, one after the other.
llvm::Value* KernelEmitter::ComputeHalves(const Instruction& instruction,
                                          Values in) {
  const Type half = ptx::HalfOf(instruction.type());
  if (half == Type::kNone) {
    return ComputeHalf(instruction, instruction.type(), in);
  }
  llvm::Value* result = nullptr;
  for (const int shift : {0, 16}) {
    llvm::SmallVector<llvm::Value*, 3> parts;
    for (llvm::Value* value : in) parts.push_back(HalfAt(value, shift));
    llvm::Value* part = ComputeHalf(instruction, half, parts);
    if (part == nullptr) return nullptr;
    part = b_.CreateShl(b_.CreateZExt(part, in[0]->getType()), shift);
    result = result == nullptr ? part : b_.CreateOr(result, part);
  }
  return result;
}

llvm::Value* KernelEmitter::HalfAt(llvm::Value* pair, int shift) {
  return b_.CreateTrunc(b_.CreateLShr(pair, shift),
                        Like(pair, b_.getInt16Ty()));
}

llvm::Value* KernelEmitter::ComputeHalf(const Instruction& instruction,
                                        Type type, Values operands) {
  const ptx::Modifiers& words = instruction.modifiers;
  const bool ftz = words.Has(Modifier::kFtz) && type == Type::kF16;
  llvm::SmallVector<llvm::Value*, 3> bits(operands.begin(), operands.end());
  if (ftz) {
    for (llvm::Value*& value : bits) value = FlushHalf(value);
  }
  if (instruction.opcode() == Opcode::kNeg) {
    return b_.CreateXor(bits[0], ConstantLike(bits[0], 0x8000));
  }
  if (instruction.opcode() == Opcode::kAbs) {
    return b_.CreateAnd(bits[0], ConstantLike(bits[0], 0x7FFF));
  }
  llvm::SmallVector<llvm::Value*, 3> in;
  for (llvm::Value* value : bits) in.push_back(FloatOfHalf(type, value));
  llvm::Value* value = HalfAsFloat(instruction, type, in);
  if (value == nullptr) return nullptr;
  if (ftz) {
    // Decided before digits are lost for being subnormal.
    llvm::Type* single = value->getType();
    llvm::Value* large = FloatOfHalf(
        type, HalfOfFloat(type, b_.CreateFMul(value, llvm::ConstantFP::get(
                                                         single, 0x1p8))));
    llvm::Value* zero = b_.CreateBinaryIntrinsic(
        Intrinsic::copysign, llvm::ConstantFP::get(single, 0.0), value);
    llvm::Value* tiny =
        b_.CreateFCmpOLT(b_.CreateUnaryIntrinsic(Intrinsic::fabs, large),
                         llvm::ConstantFP::get(single, 0x1p-6));
    value = b_.CreateSelect(tiny, zero, value);
  }
  if (words.Has(Modifier::kSat)) value = Saturate(value);
  if (words.Has(Modifier::kRelu)) {
    llvm::Value* zero = llvm::Constant::getNullValue(value->getType());
    value = b_.CreateSelect(b_.CreateFCmpOLE(value, zero), zero, value);
  }
  return HalfOfFloat(type, value);
}

// A float that rounds to the result as the exact result would.
llvm::Value* KernelEmitter::HalfAsFloat(const Instruction& instruction,
                                        Type type, Values in) {
  switch (instruction.opcode()) {
    // Float has more than twice the digits, so these round as if once.
    case Opcode::kAdd:
      return b_.CreateFAdd(in[0], in[1]);
    case Opcode::kSub:
      return b_.CreateFSub(in[0], in[1]);
    case Opcode::kMul:
      // A product of f16 is exact; one of bf16 may be too small for that.
      return type == Type::kF16 ? b_.CreateFMul(in[0], in[1])
                                : RoundOdd(in[0], in[1], nullptr);
    case Opcode::kFma:
      return RoundOdd(in[0], in[1], in[2]);
    case Opcode::kMin:
    case Opcode::kMax:
      return MinMax(instruction, in[0], in[1]);
    case Opcode::kEx2:
    case Opcode::kTanh:
      return Approximate(instruction, in[0]);
    default:
      return nullptr;
  }
}

}  // namespace holdfast::software::jit
