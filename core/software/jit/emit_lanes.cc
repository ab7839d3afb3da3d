// SPDX-License-Identifier: Apache-2.0
//
// Loops that one lane after the other runs by itself (analysis/scalar_loops.h).
// Full code leaves in front of them, and masked code has them as plain scalar
// code: while lane_ is set, every value is uniform, for there is one lane.
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

// Full code: no lane has run ahead yet.
void KernelEmitter::LeaveForLaneLoop(size_t k) {
  if (!analysis::EntersScalarLoop(kernel_, shapes_[0].lane_loops, k)) {
    b_.CreateUnreachable();
    return;
  }
  parting_.roots.insert(static_cast<int>(k));
  LeaveFull(live_registers_[k], &parting_);
  Pend(static_cast<int>(k), b_.I32(~0u));
  Diverge(static_cast<int>(k), &parting_);
}

// Masked code: the lanes that are pending at block k are in exec_.
void KernelEmitter::EnterLaneLoop(size_t k) {
  LaneLoop& loop = lane_loops_[shapes_[0].lane_loops[k]];
  if (loop.start == nullptr) {
    loop.start = b_.NewBlock("lanes");
    loop.entry = b_.AllocaAtEntry(b_.getInt32Ty());
  }
  loop.entries.push_back(k);
  b_.CreateStore(b_.I32(static_cast<uint32_t>(k)), loop.entry);
  b_.CreateBr(loop.start);
}

// Behind all other masked code, when it is known where each loop is entered.
void KernelEmitter::EmitLaneLoops() {
  for (auto& [first, loop] : lane_loops_) {
    loop_ = &loop;
    FindLaneRegisters(first);
    EmitLaneLoop(first);
  }
  loop_ = nullptr;
}

// Those that the loop touches, and their values come from outside or go there.
void KernelEmitter::FindLaneRegisters(int first) {
  std::vector<bool> touched(live_registers_[0].size(), false);
  std::vector<bool> needed = touched;
  for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
    if (shapes_[0].lane_loops[k] != first) continue;
    const lower::Block& block = kernel_.blocks[k];
    for (uint32_t i = block.first; i < block.last; ++i) {
      const Instruction& instruction = kernel_.function->body[i];
      for (uint32_t r : lower::RegistersRead(instruction)) touched[r] = true;
      for (uint32_t r : lower::RegistersWritten(instruction)) {
        touched[r] = true;
        loop_->written.insert(r);
      }
    }
    for (uint32_t r = 0; r < needed.size(); ++r) {
      if (live_registers_[k][r]) needed[r] = true;
    }
  }
  for (uint32_t r = 0; r < needed.size(); ++r) {
    if (touched[r] && needed[r]) loop_->taken_in.insert(r);
  }
}

// for each lane of exec_, the lowest first: registers from the frame into
// scalars; the loop's blocks, emitted once; registers that the block behind the
// loop needs back to the frame. A lane leaves at a block of its own choice,
// where it becomes pending, so that lanes with the same exit go on together.
void KernelEmitter::EmitLaneLoop(int first) {
  LaneLoop& loop = *loop_;
  auto* each = b_.NewBlock("lane");
  auto* done = b_.NewBlock("lane.done");
  llvm::AllocaInst* rest = b_.AllocaAtEntry(b_.getInt32Ty());
  b_.SetInsertPoint(loop.start);
  b_.CreateStore(LoadI32(exec_), rest);
  b_.CreateBr(each);

  b_.SetInsertPoint(each);
  llvm::Value* left = LoadI32(rest);
  llvm::Value* lane =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b_.getTrue());
  b_.CreateStore(b_.CreateAnd(left, b_.CreateSub(left, b_.I32(1))), rest);
  lane_registers_.clear();
  for (const uint32_t r : loop.taken_in) TakeIn(r, lane);
  lane_ = lane;
  NoteLanes(LaneBit());
  for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
    if (shapes_[0].lane_loops[k] != first) continue;
    loop.blocks[static_cast<int>(k)] = b_.NewBlock("alone");
  }
  auto* entries = b_.CreateSwitch(
      LoadI32(loop.entry), loop.blocks[static_cast<int>(loop.entries[0])]);
  for (size_t i = 1; i < loop.entries.size(); ++i) {
    const int k = static_cast<int>(loop.entries[i]);
    entries->addCase(b_.getInt32(static_cast<uint32_t>(k)), loop.blocks[k]);
  }
  const auto blocks = loop.blocks;  // exits join them
  for (const auto& [k, block] : blocks) {
    b_.SetInsertPoint(block);
    EmitBlock(static_cast<size_t>(k));
  }
  int lowest = first;
  for (const auto& [target, block] : loop.exits) {
    b_.SetInsertPoint(block);
    LeaveLaneLoop(target);
    b_.CreateBr(done);
    if (target != lower::kExit) lowest = std::min(lowest, target);
  }
  lane_ = nullptr;
  b_.SetInsertPoint(done);
  b_.CreateCondBr(b_.CreateICmpNE(LoadI32(rest), b_.I32(0)), each,
                  DispatchFrom(static_cast<size_t>(lowest)));
}

llvm::Value* KernelEmitter::LaneBit() { return b_.CreateShl(b_.I32(1), lane_); }

// A branch of one lane: inside, or out to where masked code goes on.
void KernelEmitter::BranchAlone(const Instruction* instruction, size_t k) {
  const lower::Block& block = kernel_.blocks[k];
  const auto to = [&](int target) {
    const auto inside = loop_->blocks.find(target);
    if (inside != loop_->blocks.end()) return inside->second;
    auto*& exit = loop_->exits[target];
    if (exit == nullptr) exit = b_.NewBlock("lane.out");
    return exit;
  };
  if (instruction == nullptr) {
    b_.CreateBr(to(block.next));
  } else if (instruction->guard.kind == Operand::Kind::kNone) {
    b_.CreateBr(to(block.taken));
  } else {
    const Value guard = Read(instruction->guard, Type::kPred);
    b_.CreateCondBr(guard.parts[0], to(block.taken), to(block.next));
  }
}

// Loads the lane's value from the frame.
void KernelEmitter::TakeIn(uint32_t r, llvm::Value* lane) {
  const Type type = kernel_.function->registers[r].type;
  lane_registers_[r] = b_.AllocaAtEntry(b_.TypeOf(type));
  const LaneShape& shape = shapes_[1].registers[r];
  llvm::Value* value = nullptr;
  if (shape.varying && type == Type::kPred) {
    llvm::Value* bits = LoadI32(Storage(r, Mode::kMasked)[0].pointer);
    value = b_.CreateTrunc(b_.CreateLShr(bits, lane), b_.getInt1Ty());
  } else if (shape.varying) {
    const Place place = Storage(r, Mode::kMasked)[0];
    value = b_.CreateLoad(b_.TypeOf(type),
                          b_.CreateGEP(b_.TypeOf(type), place.pointer, lane));
  } else {
    value = AtLane(ReadRegister(r, Mode::kMasked), lane).parts[0];
  }
  b_.CreateStore(value, lane_registers_[r]);
}

// The lane leaves for block `target`.
void KernelEmitter::LeaveLaneLoop(int target) {
  if (target != lower::kExit) {
    for (const uint32_t r : loop_->written) {
      if (live_registers_[target][r]) GiveBack(r);
    }
  }
  Pend(target, LaneBit());
}

// Stores the lane's value in the frame. A register that is not varying there
// has one value for its whole unit: the lane's own place in it is subtracted.
// Every lane then stores the same.
void KernelEmitter::GiveBack(uint32_t r) {
  const Type type = kernel_.function->registers[r].type;
  const LaneShape& shape = shapes_[1].registers[r];
  const Place place = Storage(r, Mode::kMasked)[0];
  llvm::Value* value = ReadRegister(r, Mode::kMasked).parts[0];
  if (shape.varying && type == Type::kPred) {
    llvm::Value* bit =
        b_.CreateShl(b_.CreateZExt(value, b_.getInt32Ty()), lane_);
    llvm::Value* others =
        b_.CreateAnd(LoadI32(place.pointer), b_.CreateNot(LaneBit()));
    b_.CreateStore(b_.CreateOr(others, bit), place.pointer);
    return;
  }
  llvm::Value* at = lane_;
  if (!shape.varying) {
    llvm::Value* within =
        shape.wide ? lane_ : b_.CreateAnd(lane_, b_.I32(lanes_ - 1));
    at = shape.wide ? b_.I32(0) : b_.CreateUDiv(lane_, b_.I32(lanes_));
    if (shape.stride != 0)
      value = b_.CreateSub(value, Reach(value, shape, within));
  }
  b_.CreateStore(value, b_.CreateGEP(b_.TypeOf(type), place.pointer, at));
}

// Returns how far `lane` of a unit lies from the unit's base.
llvm::Value* KernelEmitter::Reach(llvm::Value* base, const LaneShape& shape,
                                  llvm::Value* lane) {
  llvm::Type* type = base->getType();
  return b_.CreateMul(b_.CreateZExtOrTrunc(lane, type),
                      llvm::ConstantInt::get(type, shape.stride, true));
}

// Returns a value as one lane has it.
Value KernelEmitter::AtLane(const Value& value, llvm::Value* lane) {
  if (value.shape.uniform()) return value;
  if (value.type == Type::kPred) {
    llvm::Value* bits = BitsOfPredicate(Reshape(value, LaneShape::Varying()));
    return Uniform(value.type,
                   b_.CreateTrunc(b_.CreateLShr(bits, lane), b_.getInt1Ty()));
  }
  if (!value.shape.varying && value.shape.wide) {
    return Uniform(
        value.type,
        b_.CreateAdd(value.parts[0], Reach(value.parts[0], value.shape, lane)));
  }
  llvm::Type* element = value.parts[0]->getType()->getScalarType();
  llvm::AllocaInst* values = Spill(Reshape(value, LaneShape::Varying()));
  return Uniform(value.type,
                 b_.CreateLoad(element, b_.CreateGEP(element, values, lane)));
}

}  // namespace holdfast::software::jit
