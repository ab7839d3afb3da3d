// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/arithmetic/conversion.h"

#include "core/software/jit/arithmetic/float.h"
#include "core/software/jit/arithmetic/half.h"
#include "core/software/jit/arithmetic/scalar.h"
#include "core/software/semantics/conversion.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Type;

namespace {

using Rounding = Conversion::Rounding;
namespace Intrinsic = llvm::Intrinsic;

// The rounding that a word asks for: .rn, .rz, ... of a float, .rni, .rzi, ...
// to a whole number.
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

// With .sat, clamped in the source's type, where both bounds can be written,
// then cut or extended.
llvm::Value* ConvertIntegers(Builder& ir, Type to, Type from, bool saturate,
                             llvm::Value* a) {
  const bool is_signed = ptx::IsSigned(from);
  if (saturate) {
    // The part of the target's range that the source can hold.
    const int bits = ptx::BitsOf(from);
    const int width = ptx::BitsOf(to);
    auto limit = [&](Intrinsic::ID id, llvm::APInt bound) {
      a = ir.CreateBinaryIntrinsic(id, a,
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
  llvm::Type* target = ir.Like(a, ir.TypeOf(to));
  return is_signed ? ir.CreateSExtOrTrunc(a, target)
                   : ir.CreateZExtOrTrunc(a, target);
}

// To a whole number, in the rounding of the instruction if it has one.
llvm::Value* RoundToWhole(Builder& ir, const Instruction& instruction,
                          llvm::Value* a) {
  const auto rounding =
      instruction.modifiers.In(Modifier::kRni, Modifier::kRpi);
  if (!rounding) return a;
  return ir.CreateUnaryIntrinsic(
      *rounding == Modifier::kRni   ? Intrinsic::roundeven
      : *rounding == Modifier::kRzi ? Intrinsic::trunc
      : *rounding == Modifier::kRmi ? Intrinsic::floor
                                    : Intrinsic::ceil,
      a);
}

// Clamped to the range of the type. NaN becomes 0, or, where 64 bits are on
// either side, the highest bit alone.
llvm::Value* ConvertToInteger(Builder& ir, const Instruction& instruction,
                              llvm::Value* a) {
  const Type to = instruction.modifiers.types[0];
  a = RoundToWhole(ir, instruction, a);
  llvm::Value* result = ir.CreateIntrinsic(
      ptx::IsSigned(to) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
      {ir.Like(a, ir.TypeOf(to)), a->getType()}, {a});
  if (ptx::BitsOf(to) != 64 &&
      ptx::BitsOf(instruction.modifiers.types[1]) != 64) {
    return result;
  }
  llvm::Value* highest = llvm::ConstantInt::get(
      result->getType(), llvm::APInt::getSignMask(ptx::BitsOf(to)));
  return ir.CreateSelect(ir.CreateFCmpUNO(a, a), highest, result);
}

// Chooses one NaN for all, as a GPU does where an f16 becomes an f32.
llvm::Value* OneNan(Builder& ir, llvm::Value* value) {
  llvm::Type* word = ir.Like(value, ir.getInt32Ty());
  llvm::Value* nan = ir.CreateBitCast(llvm::ConstantInt::get(word, 0x7FFFFFFF),
                                      value->getType());
  return ir.CreateSelect(ir.CreateFCmpUNO(value, value), nan, value);
}

// Flushed on both sides: a subnormal source counts as zero, and so does a
// result.
llvm::Value* ConvertToFloat(Builder& ir, const Instruction& instruction,
                            llvm::Value* a) {
  const ptx::Modifiers& words = instruction.modifiers;
  const Type to = words.types[0];
  const Type from = words.types[1];
  const bool ftz = words.Has(Modifier::kFtz);
  llvm::Type* target = ir.Like(a, ir.TypeOf(to));
  if (IsInteger(from)) {
    a = ptx::IsSigned(from) ? ir.CreateSIToFP(a, target)
                            : ir.CreateUIToFP(a, target);
  } else {
    if (IsHalf(from)) a = FloatOfHalf(ir, from, a);
    if (ftz) a = Flush(ir, a);
    a = ir.CreateFPCast(RoundToWhole(ir, instruction, a), target);
    if (ftz) a = Flush(ir, a);
    if (from == Type::kF16 && to == Type::kF32) a = OneNan(ir, a);
  }
  return words.Has(Modifier::kSat) ? Saturate(ir, a) : a;
}

}  // namespace

// The common conversions are vector code; every other pair of types, rounding
// and clamp goes lane by lane through the scalar definition (semantics/), which
// has them all.
llvm::Value* Convert(Builder& ir, const Instruction& instruction, Values in) {
  const Conversion how = ConversionOf(instruction);
  const bool special = how.relu || how.finite || how.pack;
  const bool nearest = how.rounding == Rounding::kNearest;
  const Type half = ptx::HalfOf(how.to);
  if (!special && IsInteger(how.to) && IsInteger(how.from)) {
    return ConvertIntegers(ir, how.to, how.from, how.saturate, in[0]);
  }
  if (!special && IsInteger(how.to) && (IsHalf(how.from) || IsWide(how.from))) {
    llvm::Value* value =
        IsHalf(how.from) ? FloatOfHalf(ir, how.from, in[0]) : in[0];
    if (how.ftz) value = Flush(ir, value);
    return ConvertToInteger(ir, instruction, value);
  }
  if (!special && IsWide(how.to) && (nearest || how.whole)) {
    return ConvertToFloat(ir, instruction, in[0]);
  }
  if (!special && !how.ftz && !how.saturate && nearest &&
      how.from == Type::kF32) {
    if (IsHalf(how.to)) return HalfOfFloat(ir, how.to, in[0]);
    if (half == Type::kF16 || half == Type::kBF16) {
      llvm::Type* word = ir.Like(in[0], ir.getInt32Ty());
      llvm::Value* high = ir.CreateZExt(HalfOfFloat(ir, half, in[0]), word);
      llvm::Value* low = ir.CreateZExt(HalfOfFloat(ir, half, in[1]), word);
      return ir.CreateOr(ir.CreateShl(high, 16), low);
    }
  }
  const Type result = how.pack ? Type::kB32 : how.to;
  return CallScalar(ir, "convert", in, PackConversion(how), ir.TypeOf(result));
}

}  // namespace holdfast::software::jit
