// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/register_arrays.h"

#include <vector>

namespace holdfast::software::jit {

using analysis::kWarpLanes;
using analysis::LaneShape;
using ptx::Operand;
using ptx::Type;

absl::Span<const Operand> RegistersOf(const Operand& operand) {
  if (operand.kind == Operand::Kind::kVector) return operand.elements;
  return {&operand, 1};
}

Type RegisterArrays::WordOf(Type element) {
  return element == Type::kF64 ? Type::kB64 : Type::kB32;
}

llvm::AllocaInst* RegisterArrays::Make(size_t count, Type word) const {
  llvm::AllocaInst* array = b_.AllocaAtEntry(
      llvm::ArrayType::get(b_.TypeOf(word), count * kWarpLanes));
  b_.CreateLifetimeStart(array);
  return array;
}

llvm::AllocaInst* RegisterArrays::Spill(const Step& step,
                                        absl::Span<const Operand> registers,
                                        Type word) const {
  llvm::AllocaInst* array = Make(registers.size(), word);
  for (size_t r = 0; r < registers.size(); ++r) {
    const Value value = operands_.Read(step.lanes, registers[r], word);
    llvm::Value* words = At(array, r, word);
    for (int c = 0; c < c_.chunks(); ++c) {
      b_.CreateAlignedStore(
          v_.Vector(value, c),
          b_.CreateConstGEP1_32(b_.TypeOf(word), words,
                                static_cast<unsigned>(c * c_.lanes())),
          llvm::Align(ptx::BytesOf(word)));
    }
  }
  return array;
}

llvm::Value* RegisterArrays::At(llvm::AllocaInst* array, size_t at_register,
                                Type word) const {
  return b_.CreateConstGEP1_32(b_.TypeOf(word), array,
                               static_cast<unsigned>(at_register * kWarpLanes));
}

Value RegisterArrays::Load(llvm::AllocaInst* array, size_t at_register,
                           Type word) const {
  Value value{LaneShape::Varying(), word, {}};
  llvm::Value* words = At(array, at_register, word);
  for (int c = 0; c < c_.chunks(); ++c) {
    value.parts.push_back(b_.CreateAlignedLoad(
        b_.VectorOf(b_.TypeOf(word)),
        b_.CreateConstGEP1_32(b_.TypeOf(word), words,
                              static_cast<unsigned>(c * c_.lanes())),
        llvm::Align(ptx::BytesOf(word))));
  }
  return value;
}

void RegisterArrays::Take(const Step& step, absl::Span<const Operand> registers,
                          Type word, llvm::AllocaInst* array) const {
  const size_t count =
      array->getAllocatedType()->getArrayNumElements() / kWarpLanes;
  for (size_t r = 0; r < registers.size(); ++r) {
    operands_.Write(step.lanes, registers[r], Load(array, r % count, word));
  }
  End(array);
}

void RegisterArrays::End(llvm::AllocaInst* array) const {
  b_.CreateLifetimeEnd(array);
}

}  // namespace holdfast::software::jit
