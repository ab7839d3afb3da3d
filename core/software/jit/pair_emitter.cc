// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/pair_emitter.h"

#include "core/software/jit/arithmetic/bits.h"
#include "core/software/jit/arithmetic/comparison.h"
#include "core/software/jit/arithmetic/half.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Type;

void PairEmitter::Emit(const Step& step) const {
  return step.instruction.opcode() == ptx::Opcode::kLop3 ? EmitLogic(step)
                                                         : EmitSetp(step);
}

// setp p|q, a, b[, c]
void PairEmitter::EmitSetp(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  Value results[2];
  for (Value& result : results) {
    result = {LaneShape::Varying(), Type::kPred, {}};
  }
  const Value a = operands_.Read(step.lanes, operands[2], instruction.type());
  const Value b = operands_.Read(step.lanes, operands[3], instruction.type());
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* x = v_.Vector(a, c);
    llvm::Value* y = v_.Vector(b, c);
    Sides sides = Compared(instruction, x, y);
    if (sides[0] == nullptr) {
      return c_.Fail(instruction, "cannot be translated");
    }
    for (int i = 0; i < 2; ++i) {
      if (operands.size() > 4) {
        llvm::Value* with =
            v_.Vector(operands_.Read(step.lanes, operands[4], Type::kPred), c);
        sides[i] = Combine(b_, instruction, sides[i], with);
      }
      results[i].parts.push_back(sides[i]);
    }
  }
  operands_.Write(step.lanes, operands[0], results[0]);
  operands_.Write(step.lanes, operands[1], results[1]);
}

// p is the result of the comparison, and q is the opposite. For packed numbers,
// p compares the low halves, and q compares the high halves.
PairEmitter::Sides PairEmitter::Compared(const Instruction& instruction,
                                         llvm::Value* x, llvm::Value* y) const {
  const Type half = ptx::HalfOf(instruction.type());
  Sides sides = {};
  if (half == Type::kNone) {
    sides[0] = Compare(b_, instruction, instruction.type(), x, y);
    if (sides[0] != nullptr) sides[1] = b_.CreateNot(sides[0]);
    return sides;
  }
  for (int i = 0; i < 2; ++i) {
    sides[i] = Compare(b_, instruction, half, HalfAt(b_, x, 16 * i),
                       HalfAt(b_, y, 16 * i));
  }
  return sides;
}

// lop3.or.b32 d|p, a, b, c, table, q: p is whether d or q is not zero; of .and
// whether both are.
void PairEmitter::EmitLogic(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  Value in[3];
  for (int i = 0; i < 3; ++i) {
    in[i] = operands_.Read(step.lanes, operands[i + 2], instruction.type());
  }
  const Value with = operands_.Read(step.lanes, operands[6], Type::kPred);
  Value bits{LaneShape::Varying(), instruction.type(), {}};
  Value any{LaneShape::Varying(), Type::kPred, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* result = LookUpLogic(b_, v_.Vector(in[0], c),
                                      v_.Vector(in[1], c), v_.Vector(in[2], c),
                                      static_cast<uint8_t>(operands[5].bits));
    llvm::Value* holds = b_.CreateICmpNE(result, b_.ConstantLike(result, 0));
    bits.parts.push_back(result);
    any.parts.push_back(Combine(b_, instruction, holds, v_.Vector(with, c)));
  }
  operands_.Write(step.lanes, operands[0], bits);
  operands_.Write(step.lanes, operands[1], any);
}

}  // namespace holdfast::software::jit
