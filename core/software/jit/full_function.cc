// SPDX-License-Identifier: Apache-2.0
//
// The shape of the generated function, which the runtime calls with ranges of
// blocks and warps:
//
// entry:   frame on the stack, values of the launch
// block:   for each block of the grid
// warp:      for each warp of the block
// start:       partial warp? -> exit to masked code
// full0..n:    full code, one LLVM block for each block of the kernel
// diverged:    calls of masked code, one for each reason to leave
// reenter:     full code goes on at a block where all lanes have met
// leave:   return
//
// A warp is finished before the next begins. Where warps wait for each other,
// the runtime calls the function for one warp at a time, each on a stack of its
// own (runtime/warp_scheduler.h).
#include "core/software/jit/full_function.h"

#include "absl/strings/str_cat.h"
#include "core/software/abi/abi.h"
#include "core/software/jit/launch_values.h"
#include "core/software/jit/object_writer.h"

namespace holdfast::software::jit {

FullFunction::FullFunction(const EmitContext& shared,
                           llvm::FunctionType* masked_type)
    : e_(shared),
      c_(e_.context),
      b_(shared.b),
      exits_(e_.context, e_.registers, e_.pending),
      path_(e_, exits_),
      masked_type_(masked_type) {
  e_.instructions.set_overflow_check(&exits_);
}

void FullFunction::Emit() {
  llvm::Type* ptr = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  EnterFunction(&c_, b_.NewFunction(SymbolOf(Part::kFull), b_.getVoidTy(),
                                    {ptr, ptr, i64, i64, i64, i64}));
  DescribeAccesses(c_.function);
  frame_ = b_.CreateAlloca(b_.getInt8Ty(), b_.getInt64(0));
  frame_->setAlignment(llvm::Align(WarpFrame::kAlignment));
  c_.frame = frame_;
  clear_ = b_.CreateMemSet(frame_, b_.getInt8(0), uint64_t{0},
                           llvm::Align(WarpFrame::kAlignment));
  b_.CreateStore(b_.I32(0), c_.Slot(c_.layout.Spins()));
  LoadLaunchValues(&c_);
  EmitBlockLoop();
}

// The fields start at zero, and what masked code leaves behind is as it was.
// Registers need not: masked code reads what full code gave it, or what it has
// written itself.
// The size is put in when both functions have reserved what they need; until
// then it is 0. A kernel that never leaves full code has nothing to clear.
void FullFunction::FinishFrame() {
  frame_->setOperand(0, b_.getInt64(c_.layout.bytes()));
  const bool leaves =
      !exits_.divergence.roots.empty() || !exits_.overflow.roots.empty();
  clear_->setArgOperand(2, b_.getInt64(leaves ? c_.layout.field_bytes() : 0));
}

// for each block: for each warp: body. Behind the last block nothing is called:
// the runtime itself ends the warps.
void FullFunction::EmitBlockLoop() {
  llvm::Value* block_end = c_.function->getArg(3);
  auto* block_loop = b_.NewBlock("block");
  auto* warp_loop = b_.NewBlock("warp");
  auto* warp_next = b_.NewBlock("warp.done");
  auto* block_next = b_.NewBlock("block.done");
  auto* leave = b_.NewBlock("leave");
  c_.done = warp_next;
  auto* before = b_.GetInsertBlock();
  b_.CreateBr(block_loop);

  b_.SetInsertPoint(block_loop);
  llvm::PHINode* block = BeginBlock(c_.function->getArg(2), before);
  b_.CreateBr(warp_loop);
  b_.SetInsertPoint(warp_loop);
  EmitWarpLoop(block_next);

  b_.SetInsertPoint(block_next);
  auto* again = b_.NewBlock("block.again");
  llvm::Value* next_block = b_.CreateAdd(block, b_.getInt64(1));
  b_.CreateCondBr(b_.CreateICmpULT(next_block, block_end), again, leave);
  b_.SetInsertPoint(again);
  if (c_.kernel.concurrent_warps) {
    e_.runtime.Call("holdfast_block_ended", b_.getVoidTy(), {});
  }
  block->addIncoming(next_block, again);
  b_.CreateBr(block_loop);
  b_.SetInsertPoint(leave);
  b_.CreateRetVoid();
}

// The linear number of a block becomes its coordinates. The numbers of block
// and warp are stored in the worker's context as well, for the report of a
// fault.
// x varies fastest, as in CUDA. The divisions are once a block; the coordinates
// are uniform scalars for all of its warps.
llvm::PHINode* FullFunction::BeginBlock(llvm::Value* first,
                                        llvm::BasicBlock* before) {
  llvm::Type* i64 = b_.getInt64Ty();
  auto* block = b_.CreatePHI(i64, 2, "block");
  block->addIncoming(first, before);
  b_.CreateStore(block, e_.runtime.WorkerField(offsetof(WorkerContext, block)));
  llvm::Value* rest = block;
  for (int i = 0; i < 3; ++i) {
    llvm::Value* extent = b_.CreateZExt(c_.grid[i], i64);
    llvm::Value* index = i < 2 ? b_.CreateURem(rest, extent) : rest;
    if (i < 2) rest = b_.CreateUDiv(rest, extent);
    c_.block_index[i] = b_.CreateTrunc(index, b_.getInt32Ty());
  }
  return block;
}

void FullFunction::EmitWarpLoop(llvm::BasicBlock* behind) {
  llvm::Value* warp_begin = c_.function->getArg(4);
  llvm::Value* warp_end = c_.function->getArg(5);
  auto* loop = b_.GetInsertBlock();
  auto* warp = b_.CreatePHI(b_.getInt64Ty(), 2, "warp");
  warp->addIncoming(warp_begin, loop->getSinglePredecessor());
  b_.CreateStore(warp, e_.runtime.WorkerField(offsetof(WorkerContext, warp)));
  c_.warp = b_.CreateTrunc(warp, b_.getInt32Ty());
  EmitWarp();
  b_.SetInsertPoint(c_.done);
  llvm::Value* next_warp = b_.CreateAdd(warp, b_.getInt64(1));
  warp->addIncoming(next_warp, c_.done);
  b_.CreateCondBr(b_.CreateICmpULT(next_warp, warp_end), loop, behind);
}

// Storage of registers is found while the blocks are emitted, so that the code
// that clears it, in front of `start`, is emitted last.
void FullFunction::EmitWarp() {
  if (c_.kernel.blocks.empty()) {
    b_.CreateBr(c_.done);
    return;
  }
  exits_.set_entry_number(b_.AllocaAtEntry(b_.getInt32Ty()));
  path_.CreateBlocks();
  auto* start = b_.NewBlock("start");
  auto* initialised = b_.GetInsertBlock();
  b_.SetInsertPoint(start);
  if (c_.block.whole_warps()) {
    b_.CreateBr(path_.block(0));
  } else {
    EmitPartialWarp();
  }
  path_.EmitBlocks();
  plan_ =
      PlanMaskedCode(c_.kernel, c_.facts, exits_.divergence, exits_.overflow);
  EmitMaskedCalls();
  b_.SetInsertPoint(initialised);
  e_.registers.ClearStorage();
  b_.CreateBr(start);
}

// The last warp of a block may have fewer than 32 threads: full code knows no
// such warp, so it goes to masked code at once, and for good.
void FullFunction::EmitPartialWarp() {
  llvm::Value* threads = b_.CreateSub(
      c_.BlockThreads(), b_.CreateMul(c_.warp, b_.I32(analysis::kWarpLanes)));
  auto* partial = b_.NewBlock("partial");
  b_.CreateCondBr(b_.CreateICmpULT(threads, b_.I32(analysis::kWarpLanes)),
                  partial, path_.block(0));
  b_.SetInsertPoint(partial);
  llvm::Value* bits = b_.CreateSub(b_.CreateShl(b_.I32(1), threads), b_.I32(1));
  exits_.overflow.roots.insert(0);
  exits_.SaveLiveOuts(c_.facts.live_registers[0], &exits_.overflow);
  b_.CreateStore(bits, c_.Slot(c_.layout.Pending(0)));
  b_.CreateStore(bits, c_.Slot(c_.layout.Live()));
  exits_.Leave(0, &exits_.overflow);
}

// Masked code runs until the lanes have ended, or all meet at a block.
void FullFunction::EmitMaskedCalls() {
  const FullPathExit& divergence = exits_.divergence;
  const FullPathExit& overflow = exits_.overflow;
  if (divergence.block == nullptr && overflow.block == nullptr) return;
  auto* met = b_.NewBlock("met");
  b_.SetInsertPoint(met);
  // -1, the default of the switch, says that all lanes have ended.
  auto* meeting = b_.CreatePHI(b_.getInt32Ty(), 2);
  auto* next = b_.CreateSwitch(meeting, c_.done);
  for (const auto& [exit, part] :
       {std::pair{&divergence, Part::kDivergent},
        std::pair{&overflow,
                  plan_.split ? Part::kOverflow : Part::kDivergent}}) {
    if (exit->block == nullptr) continue;
    b_.SetInsertPoint(exit->block);
    llvm::Value* result = CallMasked(part);
    meeting->addIncoming(result, b_.GetInsertBlock());
    b_.CreateBr(met);
  }
  const FullPathReturn full_path(c_, e_.registers, e_.notes);
  for (size_t k = 0; k < plan_.meets.size(); ++k) {
    if (!plan_.meets[k]) continue;
    auto* reenter = b_.NewBlock(absl::StrCat("reenter", k));
    next->addCase(b_.getInt32(static_cast<uint32_t>(k)), reenter);
    b_.SetInsertPoint(reenter);
    full_path.Reload(k);
    b_.CreateBr(path_.block(k));
  }
}

// Returns the block at which full code goes on, or -1 if the warp has ended.
llvm::Value* FullFunction::CallMasked(Part part) {
  llvm::Value* function = FunctionOf(part);
  llvm::CallInst* result = b_.CreateCall(
      masked_type_, function,
      {c_.launch, c_.worker, c_.frame,
       b_.CreateLoad(b_.getInt32Ty(), exits_.entry_number()), c_.warp,
       c_.block_index[0], c_.block_index[1], c_.block_index[2]});
  result->addParamAttr(2, llvm::Attribute::NoCapture);
  return result;
}

// The first warp that needs it has it made.
// A slot is a global pointer of the object, null until then. Acquire pairs with
// the release of the thread that has made the function, so that its code is
// there for this one; the runtime makes it once, however many threads come for
// it.
llvm::Value* FullFunction::FunctionOf(Part part) {
  llvm::Type* pointer = b_.getPtrTy();
  llvm::Constant* slot =
      b_.module()->getOrInsertGlobal(SlotSymbolOf(part), pointer);
  auto* made = b_.CreateLoad(pointer, slot);
  made->setAtomic(llvm::AtomicOrdering::Acquire);
  made->setAlignment(llvm::Align(alignof(void*)));
  auto* before = b_.GetInsertBlock();
  auto* make = b_.NewBlock("masked.make");
  auto* call = b_.NewBlock("masked.call");
  b_.CreateCondBr(b_.CreateIsNull(made), make, call);
  b_.SetInsertPoint(make);
  llvm::Value* now =
      e_.runtime.Call("holdfast_masked_function", pointer, {slot});
  b_.CreateBr(call);
  b_.SetInsertPoint(call);
  auto* function = b_.CreatePHI(pointer, 2);
  function->addIncoming(made, before);
  function->addIncoming(now, make);
  return function;
}

}  // namespace holdfast::software::jit
