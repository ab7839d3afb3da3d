// SPDX-License-Identifier: Apache-2.0
//
// The one place that knows from an instruction which LLVM operation it is, on
// scalars or on vectors alike: `in` are the sources in the types that
// SourceType gives, all scalars or all vectors of a chunk. Nothing here knows
// lanes, masks or memory. Families with more than a few lines have files of
// their own; null says that there is no such operation.
#include "core/software/jit/arithmetic/compute.h"

#include "core/software/jit/arithmetic/comparison.h"
#include "core/software/jit/arithmetic/conversion.h"
#include "core/software/jit/arithmetic/float.h"
#include "core/software/jit/arithmetic/half.h"
#include "core/software/jit/arithmetic/integer.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

namespace {

// As .wide has it.
Type Widened(Type type) {
  switch (type) {
    case Type::kU16:
      return Type::kU32;
    case Type::kS16:
      return Type::kS32;
    case Type::kU32:
      return Type::kU64;
    default:
      return Type::kS64;
  }
}

bool IsHalfOperation(Type type) {
  return type == Type::kF16 || type == Type::kBF16 || type == Type::kF16x2 ||
         type == Type::kBF16x2;
}

}  // namespace

// Most instructions have one type for everything. The exceptions by operand:
// predicates of selp and setp, counts of shifts and positions of fields, which
// are always u32, the addend of mad.wide, and the second type of conversions.
Type SourceType(const Instruction& instruction, size_t at) {
  const auto& types = instruction.modifiers.types;
  const bool last = at + 1 == instruction.operands.size();
  switch (instruction.opcode()) {
    case Opcode::kCvt:
      return types[at == 3 ? 2 : 1];
    case Opcode::kSelp:
      return last ? Type::kPred : types[0];
    case Opcode::kSetp:
      return at == 3 ? Type::kPred : types[0];
    case Opcode::kShl:
    case Opcode::kShr:
    case Opcode::kMapa:
      return at == 2 ? Type::kU32 : types[0];
    case Opcode::kBfe:
      return at >= 2 ? Type::kU32 : types[0];
    case Opcode::kBfi:
      return at >= 3 ? Type::kU32 : types[0];
    case Opcode::kDp4a:
    case Opcode::kDp2a:
      return types[at == 2 ? 1 : 0];
    case Opcode::kSlct:
      return at == 3 ? types[1] : types[0];
    case Opcode::kSet:
      return at == 3 ? Type::kPred : types[1];
    case Opcode::kMad:
      break;
    default:
      return types[0];
  }
  const bool wide = at == 3 && instruction.modifiers.Has(Modifier::kWide);
  return wide ? Widened(types[0]) : types[0];
}

Type ResultType(const Instruction& instruction) {
  const auto& types = instruction.modifiers.types;
  switch (instruction.opcode()) {
    case Opcode::kSetp:
    case Opcode::kTestp:
      return Type::kPred;
    case Opcode::kPopc:
    case Opcode::kClz:
    case Opcode::kBfind:
    case Opcode::kGetctarank:
      return Type::kU32;
    case Opcode::kCvt:
      return instruction.modifiers.Has(Modifier::kPack) ? Type::kB32 : types[0];
    case Opcode::kDp4a:
    case Opcode::kDp2a:
      return ptx::IsSigned(types[0]) || ptx::IsSigned(types[1]) ? Type::kS32
                                                                : Type::kU32;
    default:
      break;
  }
  const bool wide = instruction.modifiers.Has(Modifier::kWide);
  return wide ? Widened(types[0]) : types[0];
}

llvm::Value* Compute(Builder& ir, const Instruction& instruction, Values in) {
  switch (instruction.opcode()) {
    case Opcode::kMov:
      return in[0];
    case Opcode::kSelp:
      return ir.CreateSelect(in[2], in[0], in[1]);
    case Opcode::kSetp: {
      llvm::Value* result =
          Compare(ir, instruction, instruction.type(), in[0], in[1]);
      if (in.size() < 3 || result == nullptr) return result;
      return Combine(ir, instruction, result, in[2]);
    }
    case Opcode::kSet:
      return ComputeSet(ir, instruction, in);
    case Opcode::kCvt:
      return Convert(ir, instruction, in);
    case Opcode::kSlct: {
      const bool ftz = instruction.modifiers.Has(Modifier::kFtz);
      llvm::Value* zero = llvm::Constant::getNullValue(in[2]->getType());
      // -0 and what flushes to it are not below zero, either.
      llvm::Value* positive =
          ptx::IsFloat(instruction.modifiers.types[1])
              ? ir.CreateFCmpOGE(ftz ? Flush(ir, in[2]) : in[2], zero)
              : ir.CreateICmpSGE(in[2], zero);
      return ir.CreateSelect(positive, in[0], in[1]);
    }
    case Opcode::kAnd:
      return ir.CreateAnd(in[0], in[1]);
    case Opcode::kOr:
      return ir.CreateOr(in[0], in[1]);
    case Opcode::kXor:
      return ir.CreateXor(in[0], in[1]);
    case Opcode::kNot:
      return ir.CreateNot(in[0]);
    case Opcode::kShl:
    case Opcode::kShr:
      return Shift(ir, instruction, in[0], in[1]);
    default:
      break;
  }
  const Type type = instruction.type();
  if (IsHalfOperation(type)) return ComputeHalves(ir, instruction, in);
  if (ptx::IsFloat(type)) return ComputeFloat(ir, instruction, in);
  return ptx::HalfOf(type) == Type::kNone
             ? ComputeInteger(ir, instruction, in)
             : ComputeIntegerPairs(ir, instruction, in);
}

}  // namespace holdfast::software::jit
