// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/full_path_return.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using analysis::Mode;
using ptx::Type;

// An exit stored the register in its shape of full code; masked code has it as
// varying, or per chunk. Registers that both keep alike are there already.
// Emitted once at the entry, for every register that any exit leaves: those
// that the exit at hand did not leave are expanded from whatever is there, and
// not read.
void FullPathReturn::LoadLiveOuts(const std::set<uint32_t>& live_outs) const {
  for (const uint32_t r : live_outs) {
    if (registers_.SameStorage(r)) continue;
    Value value{c_.ShapeOf(r, Mode::kFull), c_.TypeOf(r), {}};
    for (const Registers::Place& part : registers_.LiveOutStorage(r)) {
      value.parts.push_back(b_.CreateLoad(part.type, part.pointer));
    }
    registers_.Write(r, value, Mode::kMasked, nullptr);
  }
}

// Two questions at the block's begin: are all 32 lanes here, one comparison;
// and does each live register fit its shape of full code. The second is only
// asked if the first holds. If a value does not fit, the warp stays in masked
// code, which is right for any values, and asks again at the next block where
// lanes may meet.
void FullPathReturn::ReturnIfAllMeet(size_t k, const ActiveLanes& lanes) const {
  auto* check = b_.NewBlock("meet.check");
  auto* enter = b_.NewBlock("meet.full");
  auto* stay = b_.NewBlock("meet.masked");
  b_.CreateCondBr(b_.CreateICmpEQ(lanes.Exec(b_), b_.I32(kAllLanes)), check,
                  stay);
  b_.SetInsertPoint(check);
  notes_.predicates.clear();
  llvm::Value* fits = b_.getTrue();
  const std::vector<bool>& live = c_.facts.live_registers[k];
  for (uint32_t r = 0; r < live.size(); ++r) {
    if (!live[r] ||
        c_.ShapeOf(r, Mode::kFull) == c_.ShapeOf(r, Mode::kMasked)) {
      continue;
    }
    if (llvm::Value* fit = Fits(r)) fits = b_.CreateAnd(fits, fit);
  }
  b_.CreateCondBr(fits, enter, stay);
  b_.SetInsertPoint(enter);
  b_.CreateRet(b_.getInt32(static_cast<uint32_t>(k)));
  b_.SetInsertPoint(stay);
}

// i1: whether a register of masked code has its shape of full code. Null: it
// cannot have another.
// A predicate is kept as one bit a lane: uniform means none or all.
llvm::Value* FullPathReturn::Fits(uint32_t index) const {
  const LaneShape& shape = c_.ShapeOf(index, Mode::kFull);
  if (shape.varying) return nullptr;
  const Value value = registers_.Read(index, Mode::kMasked);
  if (value.type != Type::kPred) return ChunksFit(value, shape);
  llvm::Value* bits = v_.BitsOfPredicate(value);
  return b_.CreateOr(b_.CreateICmpEQ(bits, b_.I32(0)),
                     b_.CreateICmpEQ(bits, b_.I32(kAllLanes)));
}

// Compares each chunk with what its first lane, or that of the warp, lets
// expect.
// For a wide shape every chunk is measured from lane 0 of the warp; else each
// from its own first lane. The comparison is of bits, also for floats: equal
// bits are what a uniform value needs, while NaN would not equal itself.
llvm::Value* FullPathReturn::ChunksFit(const Value& value,
                                       const LaneShape& shape) const {
  llvm::Type* integer = b_.getIntNTy(ptx::BitsOf(value.type));
  llvm::Value* fits = b_.getTrue();
  llvm::Value* base = nullptr;
  for (int c = 0; c < c_.chunks(); ++c) {
    llvm::Value* lanes =
        b_.CreateBitCast(v_.Vector(value, c), b_.VectorOf(integer));
    llvm::Value* expected = nullptr;
    if (c == 0 || !shape.wide) {
      base = b_.CreateExtractElement(lanes, uint64_t{0});
      expected = base;
    } else {
      expected = b_.CreateAdd(
          base,
          llvm::ConstantInt::get(integer, shape.stride * c * c_.lanes(), true));
    }
    llvm::Value* same = b_.CreateICmpEQ(
        lanes,
        b_.CreateAdd(b_.Splat(expected), b_.Iota(integer, shape.stride)));
    llvm::Value* all = b_.CreateBitCast(same, b_.getIntNTy(c_.lanes()));
    fits = b_.CreateAnd(
        fits,
        b_.CreateICmpEQ(all, llvm::Constant::getAllOnesValue(all->getType())));
  }
  return fits;
}

void FullPathReturn::Reload(size_t k) const {
  notes_.predicates.clear();
  const std::vector<bool>& live = c_.facts.live_registers[k];
  for (uint32_t r = 0; r < live.size(); ++r) {
    if (!live[r]) continue;
    const Value value = registers_.Read(r, Mode::kMasked);
    registers_.Write(r, InFullShape(value, c_.ShapeOf(r, Mode::kFull)),
                     Mode::kFull, nullptr);
  }
}

// As Fits has tested, the base of a unit is the value of its first lane.
Value FullPathReturn::InFullShape(const Value& value,
                                  const LaneShape& shape) const {
  // From the masked shape to one with fewer scalars: only bases are kept.
  if (shape.varying) return value;
  Value result = value;
  if (value.shape.varying) {
    for (llvm::Value*& part : result.parts) {
      part = b_.CreateExtractElement(part, uint64_t{0});
    }
    result.shape = {false, false, shape.stride};
    if (shape.wide) {
      result.parts.resize(1);
      result.shape.wide = true;
    }
    return result;
  }
  for (int c = 0; c < v_.PartsOf(shape); ++c) {
    if (c < static_cast<int>(result.parts.size())) continue;
    result.parts.push_back(v_.Base(result, c));
  }
  result.parts.resize(v_.PartsOf(shape));
  result.shape = shape;
  return result;
}

}  // namespace holdfast::software::jit
