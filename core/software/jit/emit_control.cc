// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/kernel_emitter.h"
#include "core/software/runtime/abi.h"
#include "llvm/IR/MDBuilder.h"

namespace holdfast::software::jit {

using lower::kExit;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

namespace {

constexpr uint32_t kAllLanes = 0xFFFFFFFF;

bool IsBranch(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBra ||
         instruction.opcode() == Opcode::kRet ||
         instruction.opcode() == Opcode::kExit;
}

}  // namespace

llvm::Value* KernelEmitter::ExecBits() {
  return mode_ == Mode::kFull ? I32(kAllLanes)
                              : b_.CreateLoad(b_.getInt32Ty(), exec_);
}

llvm::Value* KernelEmitter::LaneMask() {
  if (mode_ == Mode::kFull) return guard_bits_;
  llvm::Value* exec = ExecBits();
  return guard_bits_ == nullptr ? exec : b_.CreateAnd(exec, guard_bits_);
}

llvm::Value* KernelEmitter::ChunkMask(llvm::Value* bits, int chunk) {
  if (lanes_ == 16) {
    llvm::Value* part =
        b_.CreateTrunc(b_.CreateLShr(bits, 16 * chunk), b_.getInt16Ty());
    return b_.CreateBitCast(part, VectorOf(b_.getInt1Ty()));
  }
  llvm::SmallVector<llvm::Constant*, 16> lane_bits;
  for (int i = 0; i < lanes_; ++i) {
    lane_bits.push_back(b_.getInt32(1u << (chunk * lanes_ + i)));
  }
  llvm::Value* selected =
      b_.CreateAnd(Splat(bits), llvm::ConstantVector::get(lane_bits));
  return b_.CreateICmpNE(selected,
                         llvm::Constant::getNullValue(selected->getType()));
}

llvm::Value* KernelEmitter::BitsOfPredicate(const Value& predicate) {
  if (!predicate.shape.varying) {
    return b_.CreateSelect(predicate.parts[0], I32(kAllLanes), I32(0));
  }
  llvm::Value* bits = I32(0);
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* chunk =
        b_.CreateBitCast(predicate.parts[c], b_.getIntNTy(lanes_));
    chunk = b_.CreateShl(b_.CreateZExt(chunk, b_.getInt32Ty()), c * lanes_);
    bits = b_.CreateOr(bits, chunk);
  }
  return bits;
}

void KernelEmitter::EmitFull() {
  mode_ = Mode::kFull;
  for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
    b_.SetInsertPoint(full_[k]);
    EmitBlock(k);
  }
}

// The lowest pending block runs next; see core/software/README.md.
void KernelEmitter::EmitMasked() {
  mode_ = Mode::kMasked;
  for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
    b_.SetInsertPoint(dispatch_[k]);
    llvm::Value* bits = b_.CreateLoad(b_.getInt32Ty(), pending_[k]);
    b_.CreateCondBr(b_.CreateICmpEQ(bits, I32(0)), DispatchAfter(k),
                    masked_[k]);
    b_.SetInsertPoint(masked_[k]);
    b_.CreateStore(I32(0), pending_[k]);
    b_.CreateStore(bits, exec_);
    if (shapes_[0].meetings[k]) EnterFull(k);
    EmitBlock(k);
  }
  EmitIdle();
}

void KernelEmitter::EmitBlock(size_t k) {
  const lower::Block& block = kernel_.blocks[k];
  predicates_.clear();
  if (lower::MeetingOf(kernel_.function->body[block.first]) !=
      lower::Meeting::kNone) {
    return mode_ == Mode::kFull ? MeetFull(k) : MeetMasked(k);
  }
  for (uint32_t i = block.first; i < block.last; ++i) {
    const Instruction& instruction = kernel_.function->body[i];
    if (IsBranch(instruction)) return EmitBranch(&instruction, k);
    if (auto it = resume_.find(&instruction);
        mode_ == Mode::kMasked && it != resume_.end()) {
      b_.CreateBr(it->second);
      b_.SetInsertPoint(it->second);
      predicates_.clear();
    }
    EmitInstruction(instruction);
  }
  EmitBranch(nullptr, k);
}

void KernelEmitter::EmitInstruction(const Instruction& instruction) {
  if (instruction.guard.kind == Operand::Kind::kNone) {
    return EmitUnguarded(instruction);
  }
  const Value guard = Read(instruction.guard, Type::kPred);
  if (guard.shape.varying) {
    guard_bits_ = BitsOfPredicate(guard);
    EmitUnguarded(instruction);
    guard_bits_ = nullptr;
    return;
  }
  auto* then = NewBlock("then");
  auto* join = NewBlock("join");
  b_.CreateCondBr(guard.parts[0], then, join);
  b_.SetInsertPoint(then);
  EmitUnguarded(instruction);
  predicates_.clear();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
}

void KernelEmitter::EmitUnguarded(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kLd:
    case Opcode::kLdu:
      return EmitLoad(instruction);
    case Opcode::kSt:
      return EmitStore(instruction);
    case Opcode::kAtom:
    case Opcode::kRed:
      return EmitAtomic(instruction);
    case Opcode::kCall:
      return EmitCall(instruction);
    case Opcode::kShfl:
      return EmitShuffle(instruction);
    case Opcode::kVote:
      return EmitVote(instruction);
    case Opcode::kMatch:
      return EmitMatch(instruction);
    case Opcode::kRedux:
      return EmitRedux(instruction);
    case Opcode::kElect:
      return EmitElect(instruction);
    case Opcode::kActivemask:
      return EmitActivemask(instruction);
    case Opcode::kMembar:
    case Opcode::kFence:
      return EmitFence(instruction);
    case Opcode::kTrap:
    case Opcode::kBrkpt:
      return EmitTrap();
    case Opcode::kNanosleep:
      CallRuntime("holdfast_yield", b_.getVoidTy(), {});
      return;
    case Opcode::kPrefetch:
    case Opcode::kPrefetchu:
    case Opcode::kPmevent:
      return;
    default:
      return EmitArithmetic(instruction);
  }
}

void KernelEmitter::EmitBranch(const Instruction* instruction, size_t k) {
  const int taken = kernel_.blocks[k].taken;
  llvm::Value* rotate = nullptr;
  if (instruction != nullptr && taken != kExit &&
      taken <= static_cast<int>(k)) {
    PollCancel();
    rotate = EmitSpin(k);
  }
  if (mode_ == Mode::kFull) {
    BranchFull(instruction, k);
  } else {
    BranchMasked(instruction, k, rotate);
  }
}

llvm::BasicBlock* KernelEmitter::FullTarget(int target) {
  return target == kExit ? done_ : full_[target];
}

llvm::BasicBlock* KernelEmitter::DispatchAfter(size_t k) {
  return k + 1 < dispatch_.size() ? dispatch_[k + 1] : idle_;
}

void KernelEmitter::BranchFull(const Instruction* instruction, size_t k) {
  const lower::Block& block = kernel_.blocks[k];
  auto* next = FullTarget(block.next);
  if (instruction == nullptr) {
    b_.CreateBr(next);
    return;
  }
  auto* taken = FullTarget(block.taken);
  if (instruction->guard.kind == Operand::Kind::kNone) {
    b_.CreateBr(taken);
    return;
  }
  const Value guard = Read(instruction->guard, Type::kPred);
  if (!guard.shape.varying) {
    b_.CreateCondBr(guard.parts[0], taken, next);
    return;
  }
  llvm::Value* bits = BitsOfPredicate(guard);
  auto* not_all = NewBlock("not_all");
  auto* mixed = NewBlock("mixed");
  llvm::MDBuilder metadata(context_);
  b_.CreateCondBr(b_.CreateICmpEQ(bits, I32(kAllLanes)), taken, not_all);
  b_.SetInsertPoint(not_all);
  b_.CreateCondBr(b_.CreateICmpEQ(bits, I32(0)), next, mixed,
                  metadata.createBranchWeights(1000, 1));
  b_.SetInsertPoint(mixed);
  LeaveFull();
  Pend(block.taken, bits);
  Pend(block.next, b_.CreateNot(bits));
  int first = std::min(block.taken, block.next);
  if (first == kExit) first = std::max(block.taken, block.next);
  b_.CreateBr(first == kExit ? done_ : dispatch_[first]);
}

void KernelEmitter::BranchMasked(const Instruction* instruction, size_t k,
                                 llvm::Value* rotate) {
  const lower::Block& block = kernel_.blocks[k];
  llvm::Value* exec = ExecBits();
  auto* next = DispatchAfter(k);
  if (instruction == nullptr) {
    Pend(block.next, exec);
    b_.CreateBr(next);
    return;
  }
  llvm::Value* bits = exec;
  if (instruction->guard.kind != Operand::Kind::kNone) {
    llvm::Value* guard = BitsOfPredicate(Read(instruction->guard, Type::kPred));
    bits = b_.CreateAnd(exec, guard);
    Pend(block.next, b_.CreateAnd(exec, b_.CreateNot(guard)));
  }
  Pend(block.taken, bits);
  if (block.taken == kExit || block.taken > static_cast<int>(k)) {
    b_.CreateBr(next);
    return;
  }
  llvm::Value* back = b_.CreateICmpNE(bits, I32(0));
  if (rotate != nullptr) {
    // The blocks behind the loop run once, then the loop again.
    back = b_.CreateAnd(back, b_.CreateNot(rotate));
    b_.CreateStore(I32(1), again_);
  }
  b_.CreateCondBr(back, dispatch_[block.taken], next);
}

void KernelEmitter::Pend(int target, llvm::Value* bits) {
  if (target == kExit) {
    if (parked_.empty()) return;
    b_.CreateStore(b_.CreateAnd(LoadI32(live_), b_.CreateNot(bits)), live_);
    if (!block_meetings_) return;
    CallRuntime("holdfast_lanes_ended", b_.getVoidTy(), {bits});
    return;
  }
  llvm::Value* old = b_.CreateLoad(b_.getInt32Ty(), pending_[target]);
  b_.CreateStore(b_.CreateOr(old, bits), pending_[target]);
}

// A loop that never ends must still hear that its launch is given up.
void KernelEmitter::PollCancel() {
  llvm::Value* flag =
      LoadField(launch_, offsetof(LaunchContext, cancel), b_.getPtrTy(), true);
  auto* load = b_.CreateLoad(b_.getInt8Ty(), flag);
  load->setAtomic(llvm::AtomicOrdering::Monotonic);
  load->setAlignment(llvm::Align(1));
  auto* cancelled = NewBlock("cancelled");
  auto* go_on = NewBlock("go_on");
  llvm::MDBuilder metadata(context_);
  b_.CreateCondBr(b_.CreateICmpNE(load, b_.getInt8(0)), cancelled, go_on,
                  metadata.createBranchWeights(1, 1000000));
  b_.SetInsertPoint(cancelled);
  auto callee = module_->getOrInsertFunction(
      "holdfast_cancelled",
      llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false));
  b_.CreateCall(callee, {worker_})->setDoesNotReturn();
  b_.CreateUnreachable();
  b_.SetInsertPoint(go_on);
}

void KernelEmitter::LeaveFull() {
  b_.CreateStore(I32(kAllLanes), live_);
  for (uint32_t r = 0; r < shapes_[0].registers.size(); ++r) {
    if (shapes_[0].registers[r] == shapes_[1].registers[r]) continue;
    WriteRegister(r, ReadRegister(r), Mode::kMasked, nullptr);
  }
}

// Block k runs as full code if all lanes are in it, with values that have the
// shapes that full code takes for granted.
void KernelEmitter::EnterFull(size_t k) {
  auto* check = NewBlock("meet.check");
  auto* enter = NewBlock("meet.full");
  auto* stay = NewBlock("meet.masked");
  b_.CreateCondBr(b_.CreateICmpEQ(ExecBits(), I32(kAllLanes)), check, stay);
  b_.SetInsertPoint(check);
  predicates_.clear();
  llvm::Value* fits = b_.getTrue();
  std::vector<uint32_t> moved;
  for (uint32_t r = 0; r < live_registers_[k].size(); ++r) {
    if (!live_registers_[k][r] ||
        shapes_[0].registers[r] == shapes_[1].registers[r]) {
      continue;
    }
    moved.push_back(r);
    if (llvm::Value* fit = FitsFull(r)) fits = b_.CreateAnd(fits, fit);
  }
  b_.CreateCondBr(fits, enter, stay);
  b_.SetInsertPoint(enter);
  for (const uint32_t r : moved) {
    Value value = ReadRegister(r);
    const lower::Shape& shape = shapes_[0].registers[r];
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
  b_.SetInsertPoint(stay);
}

// i1: whether a register of masked code has its shape of full code. Null: it
// cannot have another.
llvm::Value* KernelEmitter::FitsFull(uint32_t index) {
  const lower::Shape& shape = shapes_[0].registers[index];
  if (shape.varying) return nullptr;
  const Value value = ReadRegister(index);
  if (value.type == Type::kPred) {
    llvm::Value* bits = BitsOfPredicate(value);
    return b_.CreateOr(b_.CreateICmpEQ(bits, I32(0)),
                       b_.CreateICmpEQ(bits, I32(kAllLanes)));
  }
  llvm::Type* integer = b_.getIntNTy(ptx::BitsOf(value.type));
  llvm::Value* fits = b_.getTrue();
  llvm::Value* base = nullptr;
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* lanes = b_.CreateBitCast(Vector(value, c), VectorOf(integer));
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
        lanes, b_.CreateAdd(Splat(expected), Iota(integer, shape.stride)));
    llvm::Value* all = b_.CreateBitCast(same, b_.getIntNTy(lanes_));
    fits = b_.CreateAnd(
        fits,
        b_.CreateICmpEQ(all, llvm::Constant::getAllOnesValue(all->getType())));
  }
  return fits;
}

// `narrow` is about to be widened as base + lane * stride. If a lane's value
// wraps, the masked code takes over in front of the instruction.
void KernelEmitter::CheckNoWrap(const Instruction& instruction,
                                const Value& narrow) {
  const bool is_signed = ptx::IsSigned(narrow.type);
  const int lanes = narrow.shape.wide ? lower::kWarpLanes : lanes_;
  const int64_t reach = narrow.shape.stride * (lanes - 1);
  if (reach != static_cast<int32_t>(reach)) {
    // Such a stride wraps for every base.
    return Fail(instruction, "stride too large");
  }
  llvm::Value* wraps = b_.getFalse();
  for (llvm::Value* base : narrow.parts) {
    llvm::Value* wide = is_signed ? b_.CreateSExt(base, b_.getInt64Ty())
                                  : b_.CreateZExt(base, b_.getInt64Ty());
    llvm::Value* end = b_.CreateAdd(wide, b_.getInt64(reach));
    llvm::Value* low = b_.CreateTrunc(end, b_.getInt32Ty());
    llvm::Value* back = is_signed ? b_.CreateSExt(low, b_.getInt64Ty())
                                  : b_.CreateZExt(low, b_.getInt64Ty());
    wraps = b_.CreateOr(wraps, b_.CreateICmpNE(back, end));
  }
  auto* leave = NewBlock("wraps");
  auto* go_on = NewBlock("no_wrap");
  llvm::MDBuilder metadata(context_);
  b_.CreateCondBr(wraps, leave, go_on,
                  metadata.createBranchWeights(1, 1000000));
  b_.SetInsertPoint(leave);
  LeaveFull();
  b_.CreateStore(I32(kAllLanes), exec_);
  auto*& resume = resume_[&instruction];
  if (resume == nullptr) resume = NewBlock("resume");
  b_.CreateBr(resume);
  b_.SetInsertPoint(go_on);
}

}  // namespace holdfast::software::jit
