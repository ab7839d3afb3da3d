// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/register_arrays.h"

namespace holdfast::software::jit {

using analysis::kWarpLanes;
using analysis::LaneShape;
using ptx::Operand;
using ptx::Type;

namespace {

// The most registers of an operand, which are those of a in an mma of f64 with
// the shape m16n8k16, and of a and b in a wmma of f16.
constexpr size_t kMostRegisters = 8;
constexpr uint64_t kAlignment = 64;

}  // namespace

absl::Span<const Operand> RegistersOf(const Operand& operand) {
  if (operand.kind == Operand::Kind::kVector) return operand.elements;
  return {&operand, 1};
}

Type RegisterArrays::WordOf(Type element) {
  return element == Type::kF64 ? Type::kB64 : Type::kB32;
}

// Arrays are used again, because LLVM does not merge arrays by their lifetimes
// here: it computes the addresses in front of the loop over a launch's warps,
// and keeps all of them.
llvm::AllocaInst* RegisterArrays::Make() {
  if (free_.empty()) {
    llvm::AllocaInst* array = b_.AllocaAtEntry(
        llvm::ArrayType::get(b_.getInt64Ty(), kMostRegisters * kWarpLanes));
    array->setAlignment(llvm::Align(kAlignment));
    return array;
  }
  llvm::AllocaInst* array = free_.back();
  free_.pop_back();
  return array;
}

llvm::AllocaInst* RegisterArrays::Spill(const Step& step,
                                        absl::Span<const Operand> registers,
                                        Type word) {
  llvm::AllocaInst* array = Make();
  for (size_t r = 0; r < registers.size(); ++r) {
    const Value value = operands_.Read(step.lanes, registers[r], word);
    for (int c = 0; c < c_.chunks(); ++c) {
      b_.CreateAlignedStore(v_.Vector(value, c), Chunk(array, r, c, word),
                            llvm::Align(ptx::BytesOf(word)));
    }
  }
  return array;
}

llvm::Value* RegisterArrays::At(llvm::AllocaInst* array, size_t at_register,
                                Type word) const {
  return Chunk(array, at_register, 0, word);
}

llvm::Value* RegisterArrays::Chunk(llvm::AllocaInst* array, size_t at_register,
                                   int chunk, Type word) const {
  const auto lane = static_cast<unsigned>(chunk * c_.lanes());
  return b_.CreateConstGEP1_32(
      b_.TypeOf(word), array,
      static_cast<unsigned>(at_register) * kWarpLanes + lane);
}

void RegisterArrays::Take(const Step& step, absl::Span<const Operand> registers,
                          Type word, llvm::AllocaInst* array, size_t count) {
  for (size_t r = 0; r < registers.size(); ++r) {
    Value value{LaneShape::Varying(), word, {}};
    for (int c = 0; c < c_.chunks(); ++c) {
      value.parts.push_back(b_.CreateAlignedLoad(
          b_.VectorOf(b_.TypeOf(word)), Chunk(array, r % count, c, word),
          llvm::Align(ptx::BytesOf(word))));
    }
    operands_.Write(step.lanes, registers[r], value);
  }
  End(array);
}

}  // namespace holdfast::software::jit
