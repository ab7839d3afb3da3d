// SPDX-License-Identifier: Apache-2.0
//
// Operations that compute a value from operands, of each lane by itself.
//
// The shape of the result comes from the shapes of the operands (ResultShape).
// If it is not varying, the operation is one scalar instruction, on the bases;
// else one a chunk, on vectors. The folder arithmetic/ knows the operation
// itself.
#include <algorithm>

#include "core/software/jit/arithmetic/compute.h"
#include "core/software/jit/arithmetic/routine.h"
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

namespace {

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

}  // namespace

// An affine value that is widened from 32 to 64 bits stays affine only if no
// lane overflows, which full code tests in front of the operation.
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
  std::vector<LaneShape> shapes = {LaneShape{}};
  for (size_t i = 1; i < operands.size(); ++i) {
    in.push_back(Read(operands[i], SourceType(instruction, i)));
    shapes.push_back(in.back().shape);
  }
  Value result{analysis::ResultShape(instruction, shapes, mode_, lanes_),
               ResultType(instruction),
               {}};
  const bool affine = !result.shape.varying && result.shape.stride != 0;
  if (affine && analysis::Widens(instruction)) {
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
  const bool cvta = instruction.opcode() == Opcode::kCvta;
  const bool routine = result.shape.varying && IsRoutine(instruction);
  for (int c = 0; c < PartsOf(result.shape); ++c) {
    llvm::SmallVector<llvm::Value*, 4> parts;
    for (size_t i = 1; i < in.size(); ++i) {
      parts.push_back(result.shape.varying ? Vector(in[i], c) : Base(in[i], c));
    }
    llvm::Value* part = cvta      ? ConvertAddress(instruction, parts[0])
                        : routine ? CallRoutine(b_, instruction, parts)
                                  : Compute(b_, instruction, parts);
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
    return PredicateOf(Compute(b_, instruction, bits));
  }
  Value result{LaneShape::Varying(), Type::kPred, {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::SmallVector<llvm::Value*, 4> parts;
    for (const Value& value : sources) parts.push_back(Vector(value, c));
    result.parts.push_back(Compute(b_, instruction, parts));
  }
  return result;
}

// cvta, of one scalar or a chunk's vector.
llvm::Value* KernelEmitter::ConvertAddress(const Instruction& instruction,
                                           llvm::Value* address) {
  const ptx::Space space = SpaceOf(instruction);
  llvm::Value* base = space == ptx::Space::kShared ? shared_
                      : space == ptx::Space::kParam
                          ? b_.CreatePtrToInt(parameters_, b_.getInt64Ty())
                          : nullptr;
  if (base == nullptr) return address;
  base = b_.CreateTrunc(base, address->getType()->getScalarType());
  if (address->getType()->isVectorTy()) base = b_.Splat(base);
  return instruction.modifiers.Has(Modifier::kTo) ? b_.CreateSub(address, base)
                                                  : b_.CreateAdd(address, base);
}

}  // namespace holdfast::software::jit
