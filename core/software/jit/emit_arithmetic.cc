// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/software/jit/kernel_emitter.h"
#include "llvm/IR/Intrinsics.h"

namespace holdfast::software::jit {

using lower::Shape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

namespace {

using Values = absl::Span<llvm::Value* const>;

// The type as which source operand `at` is read.
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
  if (at < 3 || !instruction.modifiers.Has(Modifier::kWide)) return types[0];
  switch (types[0]) {
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

Type ResultType(const Instruction& instruction) {
  const auto& types = instruction.modifiers.types;
  switch (instruction.opcode()) {
    case Opcode::kSetp:
    case Opcode::kTestp:
      return Type::kPred;
    case Opcode::kPopc:
    case Opcode::kClz:
    case Opcode::kBfind:
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
  if (!instruction.modifiers.Has(Modifier::kWide)) return types[0];
  switch (types[0]) {
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

bool IsPredicateLogic(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kAnd:
    case Opcode::kMov:
    case Opcode::kNot:
    case Opcode::kOr:
    case Opcode::kXor:
      return instruction.type() == Type::kPred;
    default:
      return false;
  }
}

bool IsHalfOperation(Type type) {
  return type == Type::kF16 || type == Type::kBF16 || type == Type::kF16x2 ||
         type == Type::kBF16x2;
}

}  // namespace

llvm::Type* KernelEmitter::Like(llvm::Value* value, llvm::Type* element) {
  return value->getType()->isVectorTy() ? VectorOf(element) : element;
}

void KernelEmitter::EmitArithmetic(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  if (instruction.carry != ptx::kNoRegister) return EmitCarry(instruction);
  if (operands.size() < 2) return Fail(instruction, "not an operation");
  if (operands[0].kind == Operand::Kind::kVector) {
    return EmitUnpack(instruction);
  }
  if (operands[1].kind == Operand::Kind::kVector) return EmitPack(instruction);
  if (lower::DestinationCount(instruction) == 2) {
    return instruction.opcode() == Opcode::kLop3 ? EmitLogicPair(instruction)
                                                 : EmitSetpPair(instruction);
  }
  std::vector<Value> in = {Value{}};
  std::vector<Shape> shapes = {Shape{}};
  for (size_t i = 1; i < operands.size(); ++i) {
    in.push_back(Read(operands[i], SourceType(instruction, i)));
    shapes.push_back(in.back().shape);
  }
  Value result{lower::ResultShape(instruction, shapes, mode_, lanes_),
               ResultType(instruction),
               {}};
  const bool affine = !result.shape.varying && result.shape.stride != 0;
  if (affine && lower::Widens(instruction)) {
    for (const Value& value : in) {
      if (value.parts.empty() || value.shape.stride == 0 ||
          ptx::BitsOf(value.type) != 32) {
        continue;
      }
      CheckNoWrap(instruction, value);
    }
  }
  if (result.shape.varying && IsPredicateLogic(instruction)) {
    return Write(operands[0], CombinePredicates(instruction, in));
  }
  const bool routine = result.shape.varying && IsRoutine(instruction);
  for (int c = 0; c < PartsOf(result.shape); ++c) {
    llvm::SmallVector<llvm::Value*, 4> parts;
    for (size_t i = 1; i < in.size(); ++i) {
      parts.push_back(result.shape.varying ? Vector(in[i], c) : Base(in[i], c));
    }
    llvm::Value* part =
        routine ? CallRoutine(instruction, parts) : Compute(instruction, parts);
    if (part == nullptr) return Fail(instruction, "cannot be translated");
    result.parts.push_back(part);
  }
  Write(operands[0], result);
}

// On the bits of all lanes at once, unless the operands are vectors.
Value KernelEmitter::CombinePredicates(const Instruction& instruction,
                                       absl::Span<const Value> in) {
  const auto sources = in.subspan(1);
  if (std::any_of(sources.begin(), sources.end(),
                  [](const Value& value) { return value.bits != nullptr; })) {
    llvm::SmallVector<llvm::Value*, 4> bits;
    for (const Value& value : sources) bits.push_back(BitsOfPredicate(value));
    return PredicateOf(Compute(instruction, bits));
  }
  Value result{Shape::Varying(), Type::kPred, {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::SmallVector<llvm::Value*, 4> parts;
    for (const Value& value : sources) parts.push_back(Vector(value, c));
    result.parts.push_back(Compute(instruction, parts));
  }
  return result;
}

llvm::Value* KernelEmitter::Compute(const Instruction& instruction, Values in) {
  switch (instruction.opcode()) {
    case Opcode::kMov:
      return in[0];
    case Opcode::kCvta: {
      const ptx::Space space = SpaceOf(instruction);
      llvm::Value* base = space == ptx::Space::kShared ? shared_
                          : space == ptx::Space::kParam
                              ? b_.CreatePtrToInt(parameters_, b_.getInt64Ty())
                              : nullptr;
      if (base == nullptr) return in[0];
      base = b_.CreateTrunc(base, in[0]->getType()->getScalarType());
      if (in[0]->getType()->isVectorTy()) base = Splat(base);
      return instruction.modifiers.Has(Modifier::kTo)
                 ? b_.CreateSub(in[0], base)
                 : b_.CreateAdd(in[0], base);
    }
    case Opcode::kSelp:
      return b_.CreateSelect(in[2], in[0], in[1]);
    case Opcode::kSetp: {
      llvm::Value* result =
          Compare(instruction, instruction.type(), in[0], in[1]);
      if (in.size() < 3 || result == nullptr) return result;
      return Combine(instruction, result, in[2]);
    }
    case Opcode::kSet:
      return ComputeSet(instruction, in);
    case Opcode::kCvt:
      return Convert(instruction, in);
    case Opcode::kSlct: {
      const bool ftz = instruction.modifiers.Has(Modifier::kFtz);
      llvm::Value* zero = llvm::Constant::getNullValue(in[2]->getType());
      // -0 and what flushes to it are not below zero, either.
      llvm::Value* positive =
          ptx::IsFloat(instruction.modifiers.types[1])
              ? b_.CreateFCmpOGE(ftz ? Flush(in[2]) : in[2], zero)
              : b_.CreateICmpSGE(in[2], zero);
      return b_.CreateSelect(positive, in[0], in[1]);
    }
    case Opcode::kAnd:
      return b_.CreateAnd(in[0], in[1]);
    case Opcode::kOr:
      return b_.CreateOr(in[0], in[1]);
    case Opcode::kXor:
      return b_.CreateXor(in[0], in[1]);
    case Opcode::kNot:
      return b_.CreateNot(in[0]);
    case Opcode::kShl:
    case Opcode::kShr:
      return Shift(instruction, in[0], in[1]);
    default:
      break;
  }
  const Type type = instruction.type();
  if (IsHalfOperation(type)) return ComputeHalves(instruction, in);
  if (ptx::IsFloat(type)) return ComputeFloat(instruction, in);
  return ptx::HalfOf(type) == Type::kNone
             ? ComputeInteger(instruction, in)
             : ComputeIntegerPairs(instruction, in);
}

}  // namespace holdfast::software::jit
