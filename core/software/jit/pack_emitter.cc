// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/pack_emitter.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Type;

namespace {

Type PartOf(int bits) {
  switch (bits) {
    case 8:
      return Type::kB8;
    case 16:
      return Type::kB16;
    case 32:
      return Type::kB32;
    case 64:
      return Type::kB64;
    default:
      return Type::kNone;
  }
}

}  // namespace

// Parts are widened, shifted to their place and joined by |.
void PackEmitter::EmitPack(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& elements = instruction.operands[1].elements;
  const int bits = ptx::BitsOf(instruction.type());
  const int each = bits / static_cast<int>(elements.size());
  const Type narrow = PartOf(each);
  if (narrow == Type::kNone) return c_.Fail(instruction, "bad vector");
  Value result{LaneShape::Varying(), instruction.type(), {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* whole = nullptr;
    for (size_t i = 0; i < elements.size(); ++i) {
      llvm::Value* part = b_.CreateZExt(
          v_.Vector(operands_.Read(step.lanes, elements[i], narrow), c),
          b_.VectorOf(b_.getIntNTy(bits)));
      part = b_.CreateShl(part, each * i);
      whole = whole == nullptr ? part : b_.CreateOr(whole, part);
    }
    result.parts.push_back(whole);
  }
  operands_.Write(step.lanes, instruction.operands[0], result);
}

void PackEmitter::EmitUnpack(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& elements = instruction.operands[0].elements;
  const int bits = ptx::BitsOf(instruction.type());
  const int each = bits / static_cast<int>(elements.size());
  const Type narrow = PartOf(each);
  if (narrow == Type::kNone || instruction.opcode() != Opcode::kMov) {
    return c_.Fail(instruction, "bad vector");
  }
  const Value whole =
      operands_.Read(step.lanes, instruction.operands[1], instruction.type());
  for (size_t i = 0; i < elements.size(); ++i) {
    operands_.Write(step.lanes, elements[i],
                    PartAt(whole, each * static_cast<int>(i), narrow));
  }
}

// The parts of a uniform number are uniform, too. The parts of an affine number
// are not affine, since a carry may go from one part to the other.
Value PackEmitter::PartAt(const Value& whole, int shift, Type narrow) const {
  llvm::Type* number = b_.getIntNTy(ptx::BitsOf(narrow));
  Value part{LaneShape::Varying(), narrow, {}};
  for (int c = 0; c < c_.chunks(); ++c) {
    part.parts.push_back(b_.CreateTrunc(
        b_.CreateLShr(v_.Vector(whole, c), shift), b_.VectorOf(number)));
  }
  if (whole.shape.chunk_uniform() && whole.shape.wide) {
    part.shape = LaneShape{};
    part.parts.resize(1);
    part.parts[0] =
        b_.CreateTrunc(b_.CreateLShr(whole.parts[0], shift), number);
  }
  return part;
}

}  // namespace holdfast::software::jit
