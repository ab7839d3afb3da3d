// SPDX-License-Identifier: Apache-2.0
//
// From full code to masked code and back.
//
// Full code is left where lanes diverge, and where an affine index overflows.
// An exit stores, for each register that is still needed, what full code holds
// of it, mostly a scalar, and jumps to the one call of masked code. Masked code
// expands them to its own shapes at its entry. So an exit, of which a kernel
// has many, is a few stores.
//
// The way back is taken at a block where all 32 lanes meet again, if their
// values still have the shapes that full code takes for granted: a register
// that is uniform there must be equal in all lanes. Masked code tests that,
// returns the number of the block, and full code loads its registers.
#include "core/software/jit/kernel_emitter.h"
#include "llvm/IR/MDBuilder.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Type;

namespace {

constexpr uint32_t kAllLanes = 0xFFFFFFFF;

}  // namespace

// The exits of full code are many, and rarely taken: each leaves registers as
// they are, mostly scalars, and masked code brings them to its own shapes.
void KernelEmitter::LeaveFull(const std::vector<bool>& registers,
                              Departure* departure) {
  if (meetings_) b_.CreateStore(b_.I32(kAllLanes), Slot(layout_.Live()));
  for (uint32_t r = 0; r < registers.size(); ++r) {
    if (!registers[r]) continue;
    departure->handed.insert(r);
    const auto from = Storage(r, Mode::kFull);
    const auto to = Handed(r);
    for (size_t i = 0; i < from.size(); ++i) {
      b_.CreateStore(b_.CreateLoad(from[i].type, from[i].pointer),
                     to[i].pointer);
    }
  }
}

// Whether both codes keep a register in the same way.
bool KernelEmitter::KeptAlike(uint32_t index) const {
  const analysis::LaneShape& full = shapes_[0].registers[index];
  const analysis::LaneShape& masked = shapes_[1].registers[index];
  return full.varying == masked.varying && PartsOf(full) == PartsOf(masked);
}

// Where full code leaves a register, in the shape that it has there.
llvm::SmallVector<KernelEmitter::Place, 4> KernelEmitter::Handed(
    uint32_t index) {
  auto places = Storage(index, Mode::kMasked);
  if (KeptAlike(index)) return places;
  llvm::Type* type = b_.TypeOf(kernel_.function->registers[index].type);
  const uint64_t bytes = (type->getPrimitiveSizeInBits() + 7) / 8;
  const int parts = PartsOf(shapes_[0].registers[index]);
  const uint64_t offset = layout_.Handed(index, bytes * parts);
  places.clear();
  for (int i = 0; i < parts; ++i) {
    places.push_back({Slot(offset + i * bytes), type});
  }
  return places;
}

// At the start of masked code: of all registers that any exit leaves, whichever
// it came from.
void KernelEmitter::TakeOver() {
  for (const uint32_t r : arrival_.handed) {
    if (KeptAlike(r)) continue;
    Value value{
        shapes_[0].registers[r], kernel_.function->registers[r].type, {}};
    for (const Place& part : Handed(r)) {
      value.parts.push_back(b_.CreateLoad(part.type, part.pointer));
    }
    WriteRegister(r, value, Mode::kMasked, nullptr);
  }
}

// Ends an exit of full code: masked code is to begin at `entry`.
void KernelEmitter::Diverge(int entry, Departure* departure) {
  departure->entries.insert(entry);
  if (departure->block == nullptr) departure->block = b_.NewBlock("diverged");
  b_.CreateStore(b_.getInt32(entry), entry_number_);
  b_.CreateBr(departure->block);
}

// Block k runs as full code if all lanes are in it, with values that have the
// shapes that full code takes for granted.
void KernelEmitter::EnterFull(size_t k) {
  auto* check = b_.NewBlock("meet.check");
  auto* enter = b_.NewBlock("meet.full");
  auto* stay = b_.NewBlock("meet.masked");
  b_.CreateCondBr(b_.CreateICmpEQ(ExecBits(), b_.I32(kAllLanes)), check, stay);
  b_.SetInsertPoint(check);
  predicates_.clear();
  llvm::Value* fits = b_.getTrue();
  for (uint32_t r = 0; r < live_registers_[k].size(); ++r) {
    if (!live_registers_[k][r] ||
        shapes_[0].registers[r] == shapes_[1].registers[r]) {
      continue;
    }
    if (llvm::Value* fit = FitsFull(r)) fits = b_.CreateAnd(fits, fit);
  }
  b_.CreateCondBr(fits, enter, stay);
  b_.SetInsertPoint(enter);
  b_.CreateRet(b_.getInt32(static_cast<uint32_t>(k)));
  b_.SetInsertPoint(stay);
}

// Takes registers back in the shapes of full code. As FitsFull has tested them,
// the base of a unit is the value of its first lane.
void KernelEmitter::ReenterFull(size_t k) {
  predicates_.clear();
  for (uint32_t r = 0; r < live_registers_[k].size(); ++r) {
    if (!live_registers_[k][r]) continue;
    Value value = ReadRegister(r, Mode::kMasked);
    const analysis::LaneShape& shape = shapes_[0].registers[r];
    if (!shape.varying && value.shape.varying) {
      // As FitsFull has found: the first lane tells all.
      for (llvm::Value*& part : value.parts) {
        part = b_.CreateExtractElement(part, uint64_t{0});
      }
      value.shape = {false, false, shape.stride};
      if (shape.wide) {
        value.parts.resize(1);
        value.shape.wide = true;
      }
    } else if (!shape.varying) {
      for (int c = 0; c < PartsOf(shape); ++c) {
        if (c < static_cast<int>(value.parts.size())) continue;
        value.parts.push_back(Base(value, c));
      }
      value.parts.resize(PartsOf(shape));
      value.shape = shape;
    }
    WriteRegister(r, value, Mode::kFull, nullptr);
  }
  b_.CreateBr(full_[k]);
}

// i1: whether a register of masked code has its shape of full code. Null: it
// cannot have another.
llvm::Value* KernelEmitter::FitsFull(uint32_t index) {
  const analysis::LaneShape& shape = shapes_[0].registers[index];
  if (shape.varying) return nullptr;
  const Value value = ReadRegister(index, Mode::kMasked);
  if (value.type == Type::kPred) {
    llvm::Value* bits = BitsOfPredicate(value);
    return b_.CreateOr(b_.CreateICmpEQ(bits, b_.I32(0)),
                       b_.CreateICmpEQ(bits, b_.I32(kAllLanes)));
  }
  llvm::Type* integer = b_.getIntNTy(ptx::BitsOf(value.type));
  llvm::Value* fits = b_.getTrue();
  llvm::Value* base = nullptr;
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* lanes =
        b_.CreateBitCast(Vector(value, c), b_.VectorOf(integer));
    llvm::Value* expected = nullptr;
    if (c == 0 || !shape.wide) {
      base = b_.CreateExtractElement(lanes, uint64_t{0});
      expected = base;
    } else {
      expected = b_.CreateAdd(
          base,
          llvm::ConstantInt::get(integer, shape.stride * c * lanes_, true));
    }
    llvm::Value* same = b_.CreateICmpEQ(
        lanes,
        b_.CreateAdd(b_.Splat(expected), b_.Iota(integer, shape.stride)));
    llvm::Value* all = b_.CreateBitCast(same, b_.getIntNTy(lanes_));
    fits = b_.CreateAnd(
        fits,
        b_.CreateICmpEQ(all, llvm::Constant::getAllOnesValue(all->getType())));
  }
  return fits;
}

// By register: needed in front of an instruction of the block at hand, or, in
// a region, by the lanes that wait for it at other blocks.
std::vector<bool> KernelEmitter::NeededAt(
    const Instruction& instruction) const {
  std::vector<bool> needed = analysis::LiveRegistersAt(
      kernel_, live_registers_, block_at_,
      static_cast<uint32_t>(&instruction - kernel_.function->body.data()));
  if (region_ == nullptr) return needed;
  for (const auto& [at, bits] : region_bits_) {
    if (at == lower::kExit) continue;
    for (size_t r = 0; r < needed.size(); ++r) {
      if (live_registers_[at][r]) needed[r] = true;
    }
  }
  return needed;
}

// `narrow` is about to be widened as base + lane * stride. If a lane's value
// wraps, the masked code takes over in front of the instruction.
void KernelEmitter::CheckNoWrap(const Instruction& instruction,
                                const Value& narrow) {
  const bool is_signed = ptx::IsSigned(narrow.type);
  const int lanes = narrow.shape.wide ? analysis::kWarpLanes : lanes_;
  int32_t reach = 0;
  if (__builtin_mul_overflow(narrow.shape.stride, lanes - 1, &reach)) {
    // Such a stride wraps for every base.
    return Fail(instruction, "stride too large");
  }
  llvm::Value* wraps = b_.getFalse();
  for (llvm::Value* base : narrow.parts) {
    llvm::Value* wide = is_signed ? b_.CreateSExt(base, b_.getInt64Ty())
                                  : b_.CreateZExt(base, b_.getInt64Ty());
    llvm::Value* end =
        b_.CreateAdd(wide, b_.getInt64(static_cast<uint64_t>(int64_t{reach})));
    llvm::Value* low = b_.CreateTrunc(end, b_.getInt32Ty());
    llvm::Value* back = is_signed ? b_.CreateSExt(low, b_.getInt64Ty())
                                  : b_.CreateZExt(low, b_.getInt64Ty());
    wraps = b_.CreateOr(wraps, b_.CreateICmpNE(back, end));
  }
  auto* leave = b_.NewBlock("wraps");
  auto* go_on = b_.NewBlock("no_wrap");
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(wraps, leave, go_on,
                  metadata.createBranchWeights(1, 1000000));
  b_.SetInsertPoint(leave);
  LeaveFull(NeededAt(instruction), &wrapping_);
  b_.CreateStore(region_ == nullptr ? b_.I32(kAllLanes) : region_,
                 Slot(layout_.Resumed()));
  if (region_ != nullptr) PendRegion();
  wrapping_.roots.insert(static_cast<int>(block_at_));
  const size_t number = kernel_.blocks.size() + resume_.size();
  Diverge(resume_.emplace(&instruction, static_cast<int>(number)).first->second,
          &wrapping_);
  b_.SetInsertPoint(go_on);
}

}  // namespace holdfast::software::jit
