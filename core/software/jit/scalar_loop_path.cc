// SPDX-License-Identifier: Apache-2.0
//
// One lane at a time, as a CPU's own thread would: its registers are scalars on
// the stack, which LLVM keeps in registers of the CPU, and a branch is a
// branch. Nothing is masked, since a lane that has left the loop is simply not
// run.
//
// The seam is the frame: TakeIn fetches the lane's values from the arrays of
// masked code, GiveBack puts those back that are needed behind the loop.
// Between the two, emitters see Step::lanes.alone(), and Registers gives them
// uniform values.
#include "core/software/jit/scalar_loop_path.h"

#include <algorithm>

#include "core/software/jit/masked_path.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using analysis::Mode;
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

ScalarLoopPath::ScalarLoopPath(FunctionEmitters& emitters,
                               const MaskedPath& masked, llvm::AllocaInst* exec)
    : e_(emitters),
      c_(emitters.context),
      b_(emitters.context.b),
      arrays_(emitters.context.b),
      masked_(masked),
      exec_(exec) {}

void ScalarLoopPath::Enter(size_t k) {
  Loop& loop = loops_[c_.facts.shapes[0].lane_loops[k]];
  if (loop.start == nullptr) {
    loop.start = b_.NewBlock("lanes");
    loop.entry = b_.AllocaAtEntry(b_.getInt32Ty());
  }
  loop.entries.push_back(k);
  b_.CreateStore(b_.I32(static_cast<uint32_t>(k)), loop.entry);
  b_.CreateBr(loop.start);
}

void ScalarLoopPath::EmitLoops() {
  for (auto& [first, loop] : loops_) {
    loop_ = &loop;
    FindRegisters(first);
    EmitLoop(first);
  }
  loop_ = nullptr;
}

bool ScalarLoopPath::Contains(int first, size_t k) const {
  return c_.facts.shapes[0].lane_loops[k] == first;
}

// Those that the loop touches, and whose values come from outside or go there.
void ScalarLoopPath::FindRegisters(int first) {
  std::vector<bool> touched(c_.facts.crosses.size(), false);
  std::vector<bool> needed = touched;
  for (size_t k = 0; k < c_.kernel.blocks.size(); ++k) {
    if (!Contains(first, k)) continue;
    const lower::Block& block = c_.kernel.blocks[k];
    for (uint32_t i = block.first; i < block.last; ++i) {
      const Instruction& instruction = c_.kernel.function->body[i];
      for (uint32_t r : lower::RegistersRead(instruction)) touched[r] = true;
      for (uint32_t r : lower::RegistersWritten(instruction)) {
        touched[r] = true;
        loop_->written.insert(r);
      }
    }
    for (uint32_t r = 0; r < needed.size(); ++r) {
      if (c_.facts.live_registers[k][r]) needed[r] = true;
    }
  }
  for (uint32_t r = 0; r < needed.size(); ++r) {
    if (touched[r] && needed[r]) loop_->taken_in.insert(r);
  }
}

// for each running lane, the lowest first: registers from the frame into
// scalars; the loop's blocks, emitted once; registers that the block behind the
// loop needs back to the frame. A lane leaves at a block of its own choice,
// where it becomes pending, so that lanes with the same exit go on together.
void ScalarLoopPath::EmitLoop(int first) {
  auto* each = b_.NewBlock("lane");
  auto* done = b_.NewBlock("lane.done");
  llvm::AllocaInst* rest = b_.AllocaAtEntry(b_.getInt32Ty());
  b_.SetInsertPoint(loop_->start);
  b_.CreateStore(b_.LoadI32(exec_), rest);
  b_.CreateBr(each);

  b_.SetInsertPoint(each);
  lane_ = NextLane(rest);
  e_.registers.ForgetScalars();
  for (const uint32_t r : loop_->taken_in) TakeIn(r);
  e_.runtime.NoteLanes(lanes().LaneBit(b_));
  SwitchToEntry(first);
  const auto blocks = loop_->blocks;  // exits join them
  for (const auto& [k, block] : blocks) {
    b_.SetInsertPoint(block);
    EmitBlock(e_, *this, static_cast<size_t>(k));
  }
  const int lowest = EmitExits(first, done);
  lane_ = nullptr;
  b_.SetInsertPoint(done);
  b_.CreateCondBr(b_.CreateICmpNE(b_.LoadI32(rest), b_.I32(0)), each,
                  masked_.DispatchFrom(static_cast<size_t>(lowest)));
}

// Takes the lowest lane out of the word `rest`.
llvm::Value* ScalarLoopPath::NextLane(llvm::AllocaInst* rest) {
  llvm::Value* left = b_.LoadI32(rest);
  llvm::Value* lane =
      b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b_.getTrue());
  b_.CreateStore(b_.CreateAnd(left, b_.CreateSub(left, b_.I32(1))), rest);
  return lane;
}

// A loop may be entered at several of its blocks. All lanes of one visit enter
// at the same: they came from the same dispatch.
void ScalarLoopPath::SwitchToEntry(int first) {
  Loop& loop = *loop_;
  for (size_t k = 0; k < c_.kernel.blocks.size(); ++k) {
    if (!Contains(first, k)) continue;
    loop.blocks[static_cast<int>(k)] = b_.NewBlock("alone");
  }
  auto* entries = b_.CreateSwitch(
      b_.LoadI32(loop.entry), loop.blocks[static_cast<int>(loop.entries[0])]);
  for (size_t i = 1; i < loop.entries.size(); ++i) {
    const int k = static_cast<int>(loop.entries[i]);
    entries->addCase(b_.getInt32(static_cast<uint32_t>(k)), loop.blocks[k]);
  }
}

// A lane leaves its registers and makes itself pending at the block it goes to.
// When all lanes have left, masked code looks for pending lanes from the lowest
// such block on.
int ScalarLoopPath::EmitExits(int first, llvm::BasicBlock* done) {
  int lowest = first;
  for (const auto& [target, block] : loop_->exits) {
    b_.SetInsertPoint(block);
    if (target != lower::kExit) {
      for (const uint32_t r : loop_->written) {
        if (c_.facts.live_registers[target][r]) GiveBack(r);
      }
      lowest = std::min(lowest, target);
    }
    e_.pending.Add(target, lanes().LaneBit(b_));
    b_.CreateBr(done);
  }
  return lowest;
}

// A branch of one lane: inside, or out to where masked code goes on.
llvm::BasicBlock* ScalarLoopPath::TargetOf(int target) {
  const auto inside = loop_->blocks.find(target);
  if (inside != loop_->blocks.end()) return inside->second;
  llvm::BasicBlock*& exit = loop_->exits[target];
  if (exit == nullptr) exit = b_.NewBlock("lane.out");
  return exit;
}

void ScalarLoopPath::Branch(const Instruction* instruction, size_t k,
                            llvm::Value* /*rotate*/) {
  const lower::Block& block = c_.kernel.blocks[k];
  if (instruction == nullptr) {
    b_.CreateBr(TargetOf(block.next));
  } else if (instruction->guard.kind == Operand::Kind::kNone) {
    b_.CreateBr(TargetOf(block.taken));
  } else {
    const Value guard = e_.instructions.operands().Read(
        lanes(), instruction->guard, Type::kPred);
    b_.CreateCondBr(guard.parts[0], TargetOf(block.taken),
                    TargetOf(block.next));
  }
}

// The analysis lets no such instruction into a loop of one lane.
void ScalarLoopPath::Converge(const Step& step) {
  c_.Fail(step.instruction, "lanes meet in a loop of one lane");
  b_.CreateUnreachable();
}

// Loads the lane's value from the frame into its scalar.
void ScalarLoopPath::TakeIn(uint32_t r) {
  const Type type = c_.TypeOf(r);
  llvm::AllocaInst* scalar = e_.registers.ScalarOf(r);
  llvm::Value* value = nullptr;
  // Three forms in the frame: scalars of units, from which the lane's value is
  // computed; one bit a lane; an array with an element a lane.
  if (!c_.ShapeOf(r, Mode::kMasked).varying) {
    const Value unit = e_.registers.Read(r, Mode::kMasked);
    value = arrays_.AtLane(unit, lane_).parts[0];
  } else if (const auto place = e_.registers.StorageOf(r, Mode::kMasked)[0];
             type == Type::kPred) {
    llvm::Value* bits = b_.LoadI32(place.pointer);
    value = b_.CreateTrunc(b_.CreateLShr(bits, lane_), b_.getInt1Ty());
  } else {
    value = b_.CreateLoad(b_.TypeOf(type),
                          b_.CreateGEP(b_.TypeOf(type), place.pointer, lane_));
  }
  b_.CreateStore(value, scalar);
}

// Stores the lane's value in the frame. A register that is not varying there
// has one value for its whole unit: the lane's own place in it is subtracted.
// Every lane then stores the same.
void ScalarLoopPath::GiveBack(uint32_t r) {
  const Type type = c_.TypeOf(r);
  const LaneShape& shape = c_.ShapeOf(r, Mode::kMasked);
  const Registers::Place place = e_.registers.StorageOf(r, Mode::kMasked)[0];
  llvm::Value* value = e_.registers.Read(r, Mode::kMasked, lanes()).parts[0];
  if (shape.varying && type == Type::kPred) {
    llvm::Value* bit =
        b_.CreateShl(b_.CreateZExt(value, b_.getInt32Ty()), lane_);
    llvm::Value* others = b_.CreateAnd(b_.LoadI32(place.pointer),
                                       b_.CreateNot(lanes().LaneBit(b_)));
    b_.CreateStore(b_.CreateOr(others, bit), place.pointer);
    return;
  }
  llvm::Value* at = lane_;
  if (!shape.varying) {
    const auto chunk = static_cast<uint32_t>(c_.lanes());
    llvm::Value* within =
        shape.wide ? lane_ : b_.CreateAnd(lane_, b_.I32(chunk - 1));
    at = shape.wide ? b_.I32(0) : b_.CreateUDiv(lane_, b_.I32(chunk));
    if (shape.stride != 0) {
      value = b_.CreateSub(value, arrays_.DistanceOf(value, shape, within));
    }
  }
  b_.CreateStore(value, b_.CreateGEP(b_.TypeOf(type), place.pointer, at));
}

}  // namespace holdfast::software::jit
