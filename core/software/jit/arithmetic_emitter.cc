// SPDX-License-Identifier: Apache-2.0
//
// Operands are read in whatever shape they have, and brought to that of the
// result. Long operations on vectors, such as divisions, are functions of their
// own ("routines"), so that code stays short.
#include "core/software/jit/arithmetic_emitter.h"

#include <algorithm>

#include "core/software/jit/arithmetic/compute.h"
#include "core/software/jit/arithmetic/routine.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
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

void ArithmeticEmitter::Emit(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  if (instruction.carry != ptx::kNoRegister) return carries_.Emit(step);
  if (operands.size() < 2) return c_.Fail(instruction, "not an operation");
  if (operands[0].kind == Operand::Kind::kVector) {
    return packs_.EmitUnpack(step);
  }
  if (operands[1].kind == Operand::Kind::kVector) return packs_.EmitPack(step);
  if (lower::DestinationCount(instruction) == 2) return pairs_.Emit(step);
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
  if (llvm::Value* address = addresses_.Compute(instruction, in)) {
    return address;
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

}  // namespace holdfast::software::jit
