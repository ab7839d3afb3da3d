// SPDX-License-Identifier: Apache-2.0
//
// Blocks, instructions and branches.
//
// Full code has one LLVM block for each block of the kernel. A branch whose
// guard varies goes to either side if all lanes agree, and else leaves full
// code, or runs both sides under masks (emit_region.cc).
//
// Masked code runs the lanes of `exec_`. Each block has a word of pending
// lanes in the frame. A branch adds its lanes to the words of its targets; the
// chain of dispatch blocks then finds the lowest block that has any. Blocks are
// in layout order, so lanes that are behind catch up before others run on, and
// meet at the joins of ifs and at the ends of loops.
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

constexpr uint32_t kLongBlock = 64;  // instructions

bool IsBranch(const Instruction& instruction) {
  return instruction.opcode() == Opcode::kBra ||
         instruction.opcode() == Opcode::kRet ||
         instruction.opcode() == Opcode::kExit;
}

}  // namespace

// Returns the lanes that run, without regard to the guard of an instruction.
llvm::Value* KernelEmitter::ExecBits() {
  if (mode_ == Mode::kMasked) return LoadI32(exec_);
  return region_ == nullptr ? b_.I32(kAllLanes) : region_;
}

// Returns the lanes for which the instruction at hand has to take effect: those
// that run and whose guard holds. Null if that is known to be all of them, or
// if one lane runs alone, so that callers choose their code without a mask.
llvm::Value* KernelEmitter::LaneMask() {
  if (lane_ != nullptr) return nullptr;
  llvm::Value* exec = mode_ == Mode::kFull ? region_ : ExecBits();
  if (guard_bits_ == nullptr || exec == nullptr) {
    return exec == nullptr ? guard_bits_ : exec;
  }
  return b_.CreateAnd(exec, guard_bits_);
}

// Turns one bit a lane into a mask of a vector. With 16 lanes the bits are a
// mask register of AVX-512 as they are; with 8, a comparison spreads them.
llvm::Value* KernelEmitter::ChunkMask(llvm::Value* bits, int chunk) {
  if (lanes_ == 16) {
    llvm::Value* part =
        b_.CreateTrunc(b_.CreateLShr(bits, 16 * chunk), b_.getInt16Ty());
    return b_.CreateBitCast(part, b_.VectorOf(b_.getInt1Ty()));
  }
  llvm::SmallVector<llvm::Constant*, 16> lane_bits;
  for (int i = 0; i < lanes_; ++i) {
    lane_bits.push_back(b_.getInt32(1u << (chunk * lanes_ + i)));
  }
  llvm::Value* selected =
      b_.CreateAnd(b_.Splat(bits), llvm::ConstantVector::get(lane_bits));
  return b_.CreateICmpNE(selected,
                         llvm::Constant::getNullValue(selected->getType()));
}

// The other way round: one bit a lane.
llvm::Value* KernelEmitter::BitsOfPredicate(const Value& predicate) {
  if (!predicate.shape.varying) {
    return b_.CreateSelect(predicate.parts[0], b_.I32(kAllLanes), b_.I32(0));
  }
  if (predicate.bits != nullptr) return predicate.bits;
  llvm::Value* bits = b_.I32(0);
  for (int c = 0; c < chunks_; ++c) {
    llvm::Value* chunk =
        b_.CreateBitCast(predicate.parts[c], b_.getIntNTy(lanes_));
    chunk = b_.CreateShl(b_.CreateZExt(chunk, b_.getInt32Ty()), c * lanes_);
    bits = b_.CreateOr(bits, chunk);
  }
  return bits;
}

// i1: whether a varying predicate has this value in every lane. Cheaper than
// to collect the bits.
llvm::Value* KernelEmitter::AllAre(const Value& predicate, bool value) {
  llvm::Value* sum = predicate.bits;
  if (sum == nullptr) {
    sum = predicate.parts[0];
    for (int c = 1; c < chunks_; ++c) {
      llvm::Value* part = predicate.parts[c];
      sum = value ? b_.CreateAnd(sum, part) : b_.CreateOr(sum, part);
    }
    sum = b_.CreateBitCast(sum, b_.getIntNTy(lanes_));
  }
  llvm::Type* type = sum->getType();
  return b_.CreateICmpEQ(sum, value ? llvm::Constant::getAllOnesValue(type)
                                    : llvm::Constant::getNullValue(type));
}

// The lowest pending block runs next; see core/software/README.md.
void KernelEmitter::EmitMasked() {
  for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
    if (!masked_needed_[k]) continue;
    b_.SetInsertPoint(dispatch_[k]);
    llvm::Value* bits = LoadI32(Slot(layout_.Pending(k)));
    b_.CreateCondBr(b_.CreateICmpEQ(bits, b_.I32(0)), DispatchAfter(k),
                    masked_[k]);
    b_.SetInsertPoint(masked_[k]);
    b_.CreateStore(b_.I32(0), Slot(layout_.Pending(k)));
    b_.CreateStore(bits, exec_);
    if (shapes_[0].lane_loops[k] >= 0) {
      EnterLaneLoop(k);
      continue;
    }
    if (meets_[k]) EnterFull(k);
    EmitBlock(k);
  }
  EmitLaneLoops();
  EmitIdle();
}

// Emits block k in the mode at hand, or for one lane. Notes about values, such
// as tested addresses, hold within a block only: control comes to the next one
// from elsewhere, too.
void KernelEmitter::EmitBlock(size_t k) {
  const lower::Block& block = kernel_.blocks[k];
  block_at_ = k;
  predicates_.clear();
  tested_.clear();
  prefetch_ = {};
  if (mode_ == Mode::kFull && shapes_[0].lane_loops[k] >= 0) {
    return LeaveForLaneLoop(k);
  }
  if (lower::ConvergencePointOf(kernel_.function->body[block.first]) !=
      lower::ConvergencePoint::kNone) {
    return mode_ == Mode::kFull ? MeetFull(k) : MeetMasked(k);
  }
  for (uint32_t i = block.first; i < block.last; ++i) {
    const Instruction& instruction = kernel_.function->body[i];
    if (IsBranch(instruction)) return EmitBranch(&instruction, k);
    // LLVM takes quadratic time for long blocks; so they end now and then.
    if ((i - block.first) % kLongBlock == kLongBlock - 1) PollCancel();
    if (auto it = resume_.find(&instruction);
        mode_ == Mode::kMasked && it != resume_.end() &&
        arrival_.entries.contains(it->second)) {
      auto* resume = b_.NewBlock("resume");
      resume_blocks_[it->second] = resume;
      b_.CreateBr(resume);
      b_.SetInsertPoint(resume);
      predicates_.clear();
      tested_.clear();
    }
    EmitInstruction(instruction);
  }
  EmitBranch(nullptr, k);
}

// A guard that is the same for all lanes becomes a branch. One that varies
// becomes a mask, which Write and accesses to memory take into account; what
// the instruction computes in lanes without it is dropped.
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
  auto* then = b_.NewBlock("then");
  auto* join = b_.NewBlock("join");
  b_.CreateCondBr(guard.parts[0], then, join);
  b_.SetInsertPoint(then);
  EmitUnguarded(instruction);
  predicates_.clear();
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
}

void KernelEmitter::EmitUnguarded(const Instruction& instruction) {
  current_ = &instruction;
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
      return EmitTrap(instruction);
    case Opcode::kNanosleep:
      CallRuntime("holdfast_yield", b_.getVoidTy(), {});
      return;
    case Opcode::kCp:
      return EmitCopyAsync(instruction);
    case Opcode::kMbarrier:
      return EmitMbarrier(instruction);
    case Opcode::kIsspacep:
      return EmitSpaceTest(instruction);
    case Opcode::kCreatepolicy:
      return Write(instruction.operands[0],
                   Uniform(Type::kB64, b_.getInt64(0)));
    case Opcode::kApplypriority:
    case Opcode::kDiscard:
    case Opcode::kGriddepcontrol:
    case Opcode::kPrefetch:
    case Opcode::kPrefetchu:
    case Opcode::kPmevent:
      return;
    default:
      return EmitArithmetic(instruction);
  }
}

// The end of block k; `instruction` is null where control falls through.
// Branches backward poll for a cancelled launch, since they make the loops.
void KernelEmitter::EmitBranch(const Instruction* instruction, size_t k) {
  const int taken = kernel_.blocks[k].taken;
  llvm::Value* rotate = nullptr;
  if (instruction != nullptr && taken != kExit &&
      taken <= static_cast<int>(k)) {
    PollCancel();
    rotate = EmitSpin(k);
  }
  if (lane_ != nullptr) {
    BranchAlone(instruction, k);
  } else if (mode_ == Mode::kFull) {
    BranchFull(instruction, k);
  } else {
    BranchMasked(instruction, k, rotate);
  }
}

llvm::BasicBlock* KernelEmitter::FullTarget(int target) {
  return target == kExit ? done_ : full_[target];
}

// Where masked code looks next for pending lanes, from block k on.
llvm::BasicBlock* KernelEmitter::DispatchFrom(size_t k) {
  while (k < dispatch_.size() && !masked_needed_[k]) ++k;
  return k < dispatch_.size() ? dispatch_[k] : idle_;
}

llvm::BasicBlock* KernelEmitter::DispatchAfter(size_t k) {
  return DispatchFrom(k + 1);
}

// Tests for "all lanes take it" and "no lane does", each one comparison of
// vectors, before the bits of the lanes are collected for masked code. The
// registers that either target needs go to the frame.
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
  auto* not_all = b_.NewBlock("not_all");
  auto* mixed = b_.NewBlock("mixed");
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(AllAre(guard, true), taken, not_all);
  b_.SetInsertPoint(not_all);
  b_.CreateCondBr(AllAre(guard, false), next, mixed,
                  metadata.createBranchWeights(1000, 1));
  b_.SetInsertPoint(mixed);
  llvm::Value* bits = BitsOfPredicate(guard);
  if (!shapes_[0].regions[k].empty()) return EmitRegion(k, bits);
  std::vector<bool> needed(crosses_.size(), false);
  for (const int target : {block.taken, block.next}) {
    if (target == kExit) continue;
    parting_.roots.insert(target);
    for (size_t r = 0; r < needed.size(); ++r) {
      if (live_registers_[target][r]) needed[r] = true;
    }
  }
  LeaveFull(needed, &parting_);
  Pend(block.taken, bits);
  Pend(block.next, b_.CreateNot(bits));
  int first = std::min(block.taken, block.next);
  if (first == kExit) first = std::max(block.taken, block.next);
  if (first == kExit) {
    b_.CreateBr(done_);
  } else {
    Diverge(first, &parting_);
  }
}

// Lanes that go back run the loop again before blocks behind it are looked at.
// If the loop may be waiting for lanes at other blocks, `rotate` lets those run
// first, every 64th round.
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
  llvm::Value* back = b_.CreateICmpNE(bits, b_.I32(0));
  if (rotate != nullptr) {
    // The blocks behind the loop run once, then the loop again.
    back = b_.CreateAnd(back, b_.CreateNot(rotate));
    b_.CreateStore(b_.I32(1), Slot(layout_.Again()));
  }
  b_.CreateCondBr(back, dispatch_[block.taken], next);
}

// Makes the lanes `bits` run block `target` later. At the exit they end; the
// frame keeps account of that only if others may wait for them.
void KernelEmitter::Pend(int target, llvm::Value* bits) {
  if (target == kExit) {
    if (!meetings_) return;
    llvm::Value* live = Slot(layout_.Live());
    b_.CreateStore(b_.CreateAnd(LoadI32(live), b_.CreateNot(bits)), live);
    if (!block_meetings_) return;
    CallRuntime("holdfast_lanes_ended", b_.getVoidTy(), {bits});
    return;
  }
  llvm::Value* pending = Slot(layout_.Pending(target));
  b_.CreateStore(b_.CreateOr(LoadI32(pending), bits), pending);
}

// A loop that never ends must still hear that its launch is given up.
void KernelEmitter::PollCancel() {
  llvm::Value* flag =
      LoadField(launch_, offsetof(LaunchContext, cancel), b_.getPtrTy(), true);
  auto* load = b_.CreateLoad(b_.getInt8Ty(), flag);
  load->setAtomic(llvm::AtomicOrdering::Monotonic);
  load->setAlignment(llvm::Align(1));
  auto* cancelled = b_.NewBlock("cancelled");
  auto* go_on = b_.NewBlock("go_on");
  llvm::MDBuilder metadata(b_.getContext());
  b_.CreateCondBr(b_.CreateICmpNE(load, b_.getInt8(0)), cancelled, go_on,
                  metadata.createBranchWeights(1, 1000000));
  b_.SetInsertPoint(cancelled);
  auto callee = b_.module()->getOrInsertFunction(
      "holdfast_cancelled",
      llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy()}, false));
  b_.CreateCall(callee, {worker_})->setDoesNotReturn();
  b_.CreateUnreachable();
  b_.SetInsertPoint(go_on);
}

}  // namespace holdfast::software::jit
