// SPDX-License-Identifier: Apache-2.0
//
// mov between a register and its parts.
#include "core/software/jit/kernel_emitter.h"

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

// mov.b64 %rd, {%lo, %hi}
void KernelEmitter::EmitPack(const Instruction& instruction) {
  const auto& elements = instruction.operands[1].elements;
  const int bits = ptx::BitsOf(instruction.type());
  const int each = bits / static_cast<int>(elements.size());
  const Type narrow = PartOf(each);
  if (narrow == Type::kNone) return Fail(instruction, "bad vector");
  Value result{LaneShape::Varying(), instruction.type(), {}};
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* whole = nullptr;
    for (size_t i = 0; i < elements.size(); ++i) {
      llvm::Value* part = b_.CreateZExt(Vector(Read(elements[i], narrow), c),
                                        b_.VectorOf(b_.getIntNTy(bits)));
      part = b_.CreateShl(part, each * i);
      whole = whole == nullptr ? part : b_.CreateOr(whole, part);
    }
    result.parts.push_back(whole);
  }
  Write(instruction.operands[0], result);
}

void KernelEmitter::EmitUnpack(const Instruction& instruction) {
  const auto& elements = instruction.operands[0].elements;
  const int bits = ptx::BitsOf(instruction.type());
  const int each = bits / static_cast<int>(elements.size());
  const Type narrow = PartOf(each);
  if (narrow == Type::kNone || instruction.opcode() != Opcode::kMov) {
    return Fail(instruction, "bad vector");
  }
  const Value whole = Read(instruction.operands[1], instruction.type());
  for (size_t i = 0; i < elements.size(); ++i) {
    Value part{LaneShape::Varying(), narrow, {}};
    for (int c = 0; c < chunks_; ++c) {
      part.parts.push_back(
          b_.CreateTrunc(b_.CreateLShr(Vector(whole, c), each * i),
                         b_.VectorOf(b_.getIntNTy(each))));
    }
    if (whole.shape.chunk_uniform() && whole.shape.wide) {
      part.shape = LaneShape{};
      part.parts.resize(1);
      part.parts[0] = b_.CreateTrunc(b_.CreateLShr(whole.parts[0], each * i),
                                     b_.getIntNTy(each));
    }
    Write(elements[i], part);
  }
}

}  // namespace holdfast::software::jit
