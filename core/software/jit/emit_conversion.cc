// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/kernel_emitter.h"
#include "core/software/semantics/conversion.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Type;

namespace {

using Values = absl::Span<llvm::Value* const>;
using Rounding = Conversion::Rounding;
namespace Intrinsic = llvm::Intrinsic;

Rounding RoundingOf(const ptx::Modifiers& words) {
  using M = Modifier;
  if (words.Has(M::kRz) || words.Has(M::kRzi)) return Rounding::kZero;
  if (words.Has(M::kRm) || words.Has(M::kRmi)) return Rounding::kDown;
  if (words.Has(M::kRp) || words.Has(M::kRpi)) return Rounding::kUp;
  return words.Has(M::kRna) ? Rounding::kAway : Rounding::kNearest;
}

Conversion ConversionOf(const Instruction& instruction) {
  const ptx::Modifiers& words = instruction.modifiers;
  Conversion how;
  how.to = words.types[0];
  how.from = words.types[1];
  how.rounding = RoundingOf(words);
  how.whole = words.In(Modifier::kRni, Modifier::kRpi).has_value();
  how.ftz = words.Has(Modifier::kFtz);
  how.saturate = words.Has(Modifier::kSat);
  how.relu = words.Has(Modifier::kRelu);
  how.finite = words.Has(Modifier::kSatfinite);
  how.pack = words.Has(Modifier::kPack);
  return how;
}

bool IsHalf(Type type) { return type == Type::kF16 || type == Type::kBF16; }
bool IsWide(Type type) { return type == Type::kF32 || type == Type::kF64; }
bool IsInteger(Type type) {
  return !ptx::IsFloat(type) && ptx::HalfOf(type) == Type::kNone &&
         type != Type::kTF32;
}

}  // namespace

// The common conversions as vector code, all others by their definition.
llvm::Value* KernelEmitter::Convert(const Instruction& instruction, Values in) {
  const Conversion how = ConversionOf(instruction);
  const bool special = how.relu || how.finite || how.pack;
  const bool nearest = how.rounding == Rounding::kNearest;
  const Type half = ptx::HalfOf(how.to);
  if (!special && IsInteger(how.to) && IsInteger(how.from)) {
    return ConvertIntegers(how.to, how.from, how.saturate, in[0]);
  }
  if (!special && IsInteger(how.to) && (IsHalf(how.from) || IsWide(how.from))) {
    llvm::Value* value =
        IsHalf(how.from) ? FloatOfHalf(how.from, in[0]) : in[0];
    if (how.ftz) value = Flush(value);
    return ConvertToInteger(instruction, value);
  }
  if (!special && IsWide(how.to) && (nearest || how.whole)) {
    return ConvertToFloat(instruction, in[0]);
  }
  if (!special && !how.ftz && !how.saturate && nearest &&
      how.from == Type::kF32) {
    if (IsHalf(how.to)) return HalfOfFloat(how.to, in[0]);
    if (half == Type::kF16 || half == Type::kBF16) {
      llvm::Type* word = Like(in[0], b_.getInt32Ty());
      llvm::Value* high = b_.CreateZExt(HalfOfFloat(half, in[0]), word);
      llvm::Value* low = b_.CreateZExt(HalfOfFloat(half, in[1]), word);
      return b_.CreateOr(b_.CreateShl(high, 16), low);
    }
  }
  const Type result = how.pack ? Type::kB32 : how.to;
  return CallScalar("convert", in, PackConversion(how), TypeOf(result));
}

llvm::Value* KernelEmitter::ConvertIntegers(Type to, Type from, bool saturate,
                                            llvm::Value* a) {
  const bool is_signed = ptx::IsSigned(from);
  if (saturate) {
    // The part of the target's range that the source can hold.
    const int bits = ptx::BitsOf(from);
    const int width = ptx::BitsOf(to);
    auto limit = [&](Intrinsic::ID id, llvm::APInt bound) {
      a = b_.CreateBinaryIntrinsic(id, a,
                                   llvm::ConstantInt::get(a->getType(), bound));
    };
    const int top = ptx::IsSigned(to) ? width - 1 : width;
    if (top < (is_signed ? bits - 1 : bits)) {
      limit(is_signed ? Intrinsic::smin : Intrinsic::umin,
            llvm::APInt::getLowBitsSet(bits, top));
    }
    if (is_signed && !ptx::IsSigned(to)) {
      limit(Intrinsic::smax, llvm::APInt(bits, 0));
    } else if (is_signed && width < bits) {
      limit(Intrinsic::smax, llvm::APInt::getHighBitsSet(bits, bits - top));
    }
  }
  llvm::Type* target = Like(a, TypeOf(to));
  return is_signed ? b_.CreateSExtOrTrunc(a, target)
                   : b_.CreateZExtOrTrunc(a, target);
}

// To a whole number, in the rounding of the instruction if it has one.
llvm::Value* KernelEmitter::RoundToWhole(const Instruction& instruction,
                                         llvm::Value* a) {
  const auto rounding =
      instruction.modifiers.In(Modifier::kRni, Modifier::kRpi);
  if (!rounding) return a;
  return b_.CreateUnaryIntrinsic(
      *rounding == Modifier::kRni   ? Intrinsic::roundeven
      : *rounding == Modifier::kRzi ? Intrinsic::trunc
      : *rounding == Modifier::kRmi ? Intrinsic::floor
                                    : Intrinsic::ceil,
      a);
}

// Clamped to the range of the type. NaN becomes 0, or, where 64 bits are on
// either side, the highest bit alone.
llvm::Value* KernelEmitter::ConvertToInteger(const Instruction& instruction,
                                             llvm::Value* a) {
  const Type to = instruction.modifiers.types[0];
  a = RoundToWhole(instruction, a);
  llvm::Value* result = b_.CreateIntrinsic(
      ptx::IsSigned(to) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
      {Like(a, TypeOf(to)), a->getType()}, {a});
  if (ptx::BitsOf(to) != 64 &&
      ptx::BitsOf(instruction.modifiers.types[1]) != 64) {
    return result;
  }
  llvm::Value* highest = llvm::ConstantInt::get(
      result->getType(), llvm::APInt::getSignMask(ptx::BitsOf(to)));
  return b_.CreateSelect(b_.CreateFCmpUNO(a, a), highest, result);
}

llvm::Value* KernelEmitter::ConvertToFloat(const Instruction& instruction,
                                           llvm::Value* a) {
  const ptx::Modifiers& words = instruction.modifiers;
  const Type to = words.types[0];
  const Type from = words.types[1];
  const bool ftz = words.Has(Modifier::kFtz);
  llvm::Type* target = Like(a, TypeOf(to));
  if (IsInteger(from)) {
    a = ptx::IsSigned(from) ? b_.CreateSIToFP(a, target)
                            : b_.CreateUIToFP(a, target);
  } else {
    if (IsHalf(from)) a = FloatOfHalf(from, a);
    if (ftz) a = Flush(a);
    a = b_.CreateFPCast(RoundToWhole(instruction, a), target);
    if (ftz) a = Flush(a);
  }
  return words.Has(Modifier::kSat) ? Saturate(a) : a;
}

}  // namespace holdfast::software::jit
