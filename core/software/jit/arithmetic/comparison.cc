// SPDX-License-Identifier: Apache-2.0
//
// PTX's comparisons of floats come in two families: lt, le, ... are false if a
// source is NaN (LLVM: ordered), ltu, leu, ... are true (unordered). Integers
// have lo, ls, hi, hs besides, which compare as unsigned whatever the type
// says.
#include "core/software/jit/arithmetic/comparison.h"

#include "core/software/jit/arithmetic/float.h"
#include "core/software/jit/arithmetic/half.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Type;

namespace {

using P = llvm::CmpInst::Predicate;

// As LLVM says it of floating-point numbers, signed integers and unsigned
// ones; BAD of what cannot be asked.
struct Predicates {
  P floating;
  P with_sign;
  P without_sign;
};

constexpr P kFloatOnly = P::BAD_ICMP_PREDICATE;
constexpr P kIntegerOnly = P::BAD_FCMP_PREDICATE;

Predicates PredicatesOf(const ptx::Modifiers& words) {
  // .lo and .hi are also words of mul, so they lie outside the range.
  if (words.Has(Modifier::kLo)) {
    return {kIntegerOnly, P::ICMP_ULT, P::ICMP_ULT};
  }
  if (words.Has(Modifier::kHi)) {
    return {kIntegerOnly, P::ICMP_UGT, P::ICMP_UGT};
  }
  switch (words.In(Modifier::kEq, Modifier::kNan).value_or(Modifier::kRn)) {
    case Modifier::kEq:
      return {P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ};
    case Modifier::kNe:
      return {P::FCMP_ONE, P::ICMP_NE, P::ICMP_NE};
    case Modifier::kLt:
      return {P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT};
    case Modifier::kLe:
      return {P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE};
    case Modifier::kGt:
      return {P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT};
    case Modifier::kGe:
      return {P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE};
    case Modifier::kLs:
      return {kIntegerOnly, P::ICMP_ULE, P::ICMP_ULE};
    case Modifier::kHs:
      return {kIntegerOnly, P::ICMP_UGE, P::ICMP_UGE};
    case Modifier::kEqu:
      return {P::FCMP_UEQ, kFloatOnly, kFloatOnly};
    case Modifier::kNeu:
      return {P::FCMP_UNE, kFloatOnly, kFloatOnly};
    case Modifier::kLtu:
      return {P::FCMP_ULT, kFloatOnly, kFloatOnly};
    case Modifier::kLeu:
      return {P::FCMP_ULE, kFloatOnly, kFloatOnly};
    case Modifier::kGtu:
      return {P::FCMP_UGT, kFloatOnly, kFloatOnly};
    case Modifier::kGeu:
      return {P::FCMP_UGE, kFloatOnly, kFloatOnly};
    case Modifier::kNum:
      return {P::FCMP_ORD, kFloatOnly, kFloatOnly};
    case Modifier::kNan:
      return {P::FCMP_UNO, kFloatOnly, kFloatOnly};
    default:
      return {kIntegerOnly, kFloatOnly, kFloatOnly};
  }
}

}  // namespace

llvm::Value* Compare(Builder& ir, const Instruction& instruction, Type type,
                     llvm::Value* a, llvm::Value* b) {
  const Predicates predicates = PredicatesOf(instruction.modifiers);
  const bool ftz = instruction.modifiers.Has(Modifier::kFtz);
  if (!ptx::IsFloat(type)) {
    const P p =
        ptx::IsSigned(type) ? predicates.with_sign : predicates.without_sign;
    return p == kFloatOnly ? nullptr : ir.CreateICmp(p, a, b);
  }
  if (predicates.floating == kIntegerOnly) return nullptr;
  if (type == Type::kF16 || type == Type::kBF16) {
    if (ftz) a = FlushHalf(ir, a), b = FlushHalf(ir, b);
    a = FloatOfHalf(ir, type, a);
    b = FloatOfHalf(ir, type, b);
  } else if (ftz) {
    a = Flush(ir, a);
    b = Flush(ir, b);
  }
  return ir.CreateFCmp(predicates.floating, a, b);
}

// setp.lt.and p, a, b, c: the comparison, combined with the predicate c.
llvm::Value* Combine(Builder& ir, const Instruction& instruction,
                     llvm::Value* holds, llvm::Value* with) {
  const ptx::Modifiers& words = instruction.modifiers;
  return words.Has(Modifier::kAnd)  ? ir.CreateAnd(holds, with)
         : words.Has(Modifier::kOr) ? ir.CreateOr(holds, with)
                                    : ir.CreateXor(holds, with);
}

// set makes a number of the comparison: 1.0 in a float type, all ones in an
// integer type; of packed halves, each of its own comparison.
llvm::Value* ComputeSet(Builder& ir, const Instruction& instruction,
                        Values in) {
  const Type to = instruction.modifiers.types[0];
  const Type from = instruction.modifiers.types[1];
  const Type half = ptx::HalfOf(from);
  const Type each = half == Type::kNone ? to : ptx::HalfOf(to);
  const uint64_t one = each == Type::kF16    ? 0x3C00
                       : each == Type::kBF16 ? 0x3F80
                       : each == Type::kF32  ? 0x3F800000
                       : half == Type::kNone ? ~uint64_t{0}
                                             : 0xFFFF;
  llvm::Type* word = ir.Like(in[0], ir.getIntNTy(ptx::BitsOf(to)));
  llvm::Value* result = llvm::Constant::getNullValue(word);
  for (const int shift : {0, 16}) {
    if (half == Type::kNone && shift != 0) continue;
    llvm::Value* holds =
        half == Type::kNone
            ? Compare(ir, instruction, from, in[0], in[1])
            : Compare(ir, instruction, half, HalfAt(ir, in[0], shift),
                      HalfAt(ir, in[1], shift));
    if (holds == nullptr) return nullptr;
    if (in.size() > 2) holds = Combine(ir, instruction, holds, in[2]);
    llvm::Value* yes = llvm::ConstantInt::get(
        word, llvm::APInt(64, one << shift).trunc(ptx::BitsOf(to)));
    result = ir.CreateOr(
        result,
        ir.CreateSelect(holds, yes, llvm::Constant::getNullValue(word)));
  }
  return ir.CreateBitCast(result, ir.Like(in[0], ir.TypeOf(to)));
}

}  // namespace holdfast::software::jit
