// SPDX-License-Identifier: Apache-2.0
//
// Operands are read in whatever shape they have, and brought to that of the
// result. Long operations on vectors, such as divisions, are functions of their
// own ("routines"), so that code stays short.
#include "core/software/jit/arithmetic_emitter.h"

#include <algorithm>
#include <bit>

#include "core/software/abi/shared_memory.h"
#include "core/software/jit/arithmetic/compute.h"
#include "core/software/jit/arithmetic/routine.h"
#include "core/software/jit/spaces.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Space;
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

void ArithmeticEmitter::Emit(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  if (instruction.carry != ptx::kNoRegister) return EmitCarry(step);
  if (operands.size() < 2) return c_.Fail(instruction, "not an operation");
  if (operands[0].kind == Operand::Kind::kVector) return EmitUnpack(step);
  if (operands[1].kind == Operand::Kind::kVector) return EmitPack(step);
  if (lower::DestinationCount(instruction) == 2) {
    return instruction.opcode() == Opcode::kLop3 ? EmitLogicPair(step)
                                                 : EmitSetpPair(step);
  }
  EmitOne(step);
}

// Emits an instruction with one result. The first element of `in` and `shapes`
// stands for the result, so that indices are those of the operands.
// The shape of the result decides how often the operation is emitted: once on
// scalars, once a chunk on scalars, or once a chunk on vectors. For an affine
// result it is done on the bases, which is right by the rules that made the
// shape (analysis/lane_shape.cc).
void ArithmeticEmitter::EmitOne(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  std::vector<Value> in = {Value{}};
  std::vector<LaneShape> shapes = {LaneShape{}};
  for (size_t i = 1; i < operands.size(); ++i) {
    in.push_back(
        operands_.Read(step.lanes, operands[i], SourceType(instruction, i)));
    shapes.push_back(in.back().shape);
  }
  Value result{analysis::ResultShape(instruction, shapes, c_.mode, c_.lanes()),
               ResultType(instruction),
               {}};
  const bool varying = result.shape.varying;
  const bool affine = !varying && result.shape.stride != 0;
  if (affine && analysis::Widens(instruction)) CheckWidened(step, in);
  if (varying && IsPredicateLogic(instruction)) {
    return operands_.Write(step.lanes, operands[0],
                           CombinePredicates(instruction, in));
  }
  for (int c = 0; c < v_.PartsOf(result.shape); ++c) {
    llvm::SmallVector<llvm::Value*, 4> parts;
    for (size_t i = 1; i < in.size(); ++i) {
      parts.push_back(varying ? v_.Vector(in[i], c) : v_.Base(in[i], c));
    }
    llvm::Value* part = ComputePart(instruction, varying, parts);
    if (part == nullptr) return c_.Fail(instruction, "cannot be translated");
    result.parts.push_back(part);
  }
  operands_.Write(step.lanes, operands[0], result);
}

// An affine value that is widened from 32 to 64 bits stays affine only if no
// lane overflows, which full code tests in front of the operation.
void ArithmeticEmitter::CheckWidened(const Step& step,
                                     const std::vector<Value>& in) const {
  if (overflow_ == nullptr) {
    return c_.Fail(step.instruction, "an index may overflow");
  }
  for (const Value& value : in) {
    if (value.parts.empty() || value.shape.stride == 0 ||
        ptx::BitsOf(value.type) != 32) {
      continue;
    }
    overflow_->CheckNoOverflow(step, value);
  }
}

// The operation on scalars, or on vectors of a chunk's lanes. Null if there is
// no such operation.
llvm::Value* ArithmeticEmitter::ComputePart(const Instruction& instruction,
                                            bool varying, Values in) const {
  if (instruction.opcode() == Opcode::kCvta) {
    return ConvertAddress(instruction, in[0]);
  }
  if (instruction.opcode() == Opcode::kMapa) {
    return MapAddress(instruction, in[0], in[1]);
  }
  if (instruction.opcode() == Opcode::kGetctarank) {
    llvm::Value* rank = b_.CreateLShr(
        FromClusterStart(instruction, in[0]),
        b_.ConstantLike(in[0], std::countr_zero(kSharedStrideBytes)));
    return b_.CreateTrunc(rank, b_.Like(rank, b_.getInt32Ty()));
  }
  return varying && IsRoutine(instruction) ? CallRoutine(b_, instruction, in)
                                           : Compute(b_, instruction, in);
}

// On the bits of all lanes at once, unless the operands are vectors.
// One instruction on 32 bits does the work of all chunks; vectors that were
// just compared would have to be collected first, so they are combined as they
// are.
Value ArithmeticEmitter::CombinePredicates(const Instruction& instruction,
                                           absl::Span<const Value> in) const {
  const auto sources = in.subspan(1);
  if (std::any_of(sources.begin(), sources.end(),
                  [](const Value& value) { return value.bits != nullptr; })) {
    llvm::SmallVector<llvm::Value*, 4> bits;
    for (const Value& value : sources)
      bits.push_back(v_.BitsOfPredicate(value));
    return v_.PredicateOf(Compute(b_, instruction, bits));
  }
  Value result{LaneShape::Varying(), Type::kPred, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::SmallVector<llvm::Value*, 4> parts;
    for (const Value& value : sources) parts.push_back(v_.Vector(value, c));
    result.parts.push_back(Compute(b_, instruction, parts));
  }
  return result;
}

// cvta, of one scalar or a chunk's vector.
// Generic addresses are addresses of this process; those of shared memory and
// of parameters are offsets from their base.
llvm::Value* ArithmeticEmitter::ConvertAddress(const Instruction& instruction,
                                               llvm::Value* address) const {
  const Space space = SpaceOf(instruction);
  llvm::Value* base = IsShared(space) ? c_.shared_window
                      : space == Space::kParam
                          ? b_.CreatePtrToInt(c_.parameters, b_.getInt64Ty())
                          : nullptr;
  if (base == nullptr) return address;
  base = b_.CreateTrunc(base, address->getType()->getScalarType());
  if (address->getType()->isVectorTy()) base = b_.Splat(base);
  return instruction.modifiers.Has(Modifier::kTo) ? b_.CreateSub(address, base)
                                                  : b_.CreateAdd(address, base);
}

// How far the address is from the shared memory of the cluster's first block.
llvm::Value* ArithmeticEmitter::FromClusterStart(const Instruction& instruction,
                                                 llvm::Value* address) const {
  if (SpaceOf(instruction) == Space::kSharedCluster) return address;
  return b_.CreateSub(address, ClusterStart(address));
}

llvm::Value* ArithmeticEmitter::ClusterStart(llvm::Value* like) const {
  llvm::Value* start =
      b_.CreateZExtOrTrunc(c_.shared_window, like->getType()->getScalarType());
  return like->getType()->isVectorTy() ? b_.Splat(start) : start;
}

// mapa: the same place in the shared memory of the block with this rank.
llvm::Value* ArithmeticEmitter::MapAddress(const Instruction& instruction,
                                           llvm::Value* address,
                                           llvm::Value* rank) const {
  llvm::Value* offset =
      b_.CreateAnd(FromClusterStart(instruction, address),
                   b_.ConstantLike(address, kSharedStrideBytes - 1));
  llvm::Value* block =
      b_.CreateMul(b_.CreateZExtOrTrunc(rank, address->getType()),
                   b_.ConstantLike(address, kSharedStrideBytes));
  llvm::Value* mapped = b_.CreateAdd(offset, block);
  if (SpaceOf(instruction) == Space::kSharedCluster) return mapped;
  return b_.CreateAdd(mapped, ClusterStart(address));
}

}  // namespace holdfast::software::jit
