// SPDX-License-Identifier: Apache-2.0
//
// The two functions of a kernel, and the loops around the code of a warp.
//
// Full code is the function that the runtime calls: it loops over blocks and
// warps and keeps registers as SSA values. Masked code is a function of its
// own, which full code calls for one warp at a time. Both share a frame in
// memory (warp_frame.h) on the stack of the full function.
//
// Both are always emitted, in this order, since each needs to know of the
// other: masked code has an entry for each place where full code leaves, and
// the frame has room for what either of them keeps there. The compiler then
// drops the body that it did not ask for.
#include "absl/strings/str_cat.h"
#include "core/software/jit/kernel_emitter.h"
#include "core/software/jit/object_writer.h"
#include "core/software/runtime/abi.h"

namespace holdfast::software::jit {

KernelEmitter::KernelEmitter(llvm::Module* module, const lower::Kernel& kernel,
                             const analysis::BlockShape& block, const Cpu& cpu)
    : kernel_(kernel),
      block_(block),
      cpu_(cpu),
      lanes_(cpu.lanes),
      chunks_(analysis::kWarpLanes / cpu.lanes),
      b_(module, cpu.lanes),
      layout_(kernel.blocks.size(), kernel.function->registers.size()) {
  for (auto& storage : storage_) {
    storage.resize(kernel.function->registers.size());
  }
}

void KernelEmitter::Fail(const ptx::Instruction& instruction,
                         std::string reason) {
  if (error_) return;
  error_ = absl::StrCat(instruction.location.line, ":",
                        instruction.location.column, ": ", reason);
}

// Loads a field of a structure of the runtime. `invariant` tells LLVM that it
// never changes while the kernel runs, so that one load serves all uses.
llvm::Value* KernelEmitter::LoadField(llvm::Value* base, size_t offset,
                                      llvm::Type* type, bool invariant) {
  llvm::LoadInst* load = b_.CreateLoad(
      type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset));
  load->setAlignment(llvm::Align(1));
  if (invariant) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(b_.getContext(), {}));
  }
  return load;
}

// Analyses first, since either function depends on the shapes of both modes:
// a register is handed from one to the other. Full code comes before masked
// code because it finds out where it has to be left.
std::optional<std::string> KernelEmitter::Emit(Part part) {
  for (Mode mode : {Mode::kFull, Mode::kMasked}) {
    shapes_[static_cast<int>(mode)] =
        analysis::AnalyzeDivergence(kernel_, block_, mode, lanes_);
  }
  const size_t registers = kernel_.function->registers.size();
  ever_read_.resize(registers, false);
  for (const ptx::Instruction& instruction : kernel_.function->body) {
    for (uint32_t r : lower::RegistersRead(instruction)) ever_read_[r] = true;
  }
  live_registers_ = analysis::LiveRegisters(kernel_);
  loops_ = analysis::Loops(kernel_);
  own_loops_ = analysis::Loops(kernel_, /*past_barriers=*/false);
  crosses_.resize(registers, false);
  for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
    for (size_t r = 0; r < registers; ++r) {
      if (live_registers_[k][r]) crosses_[r] = true;
    }
    const lower::ConvergencePoint meeting = MeetingAt(k);
    meetings_ = meetings_ || meeting != lower::ConvergencePoint::kNone;
    block_meetings_ =
        block_meetings_ || meeting == lower::ConvergencePoint::kBlock;
  }
  llvm::Type* ptr = b_.getPtrTy();
  llvm::Type* i32 = b_.getInt32Ty();
  masked_function_ =
      b_.NewFunction(SymbolOf(part == Part::kFull ? Part::kMasked : part), i32,
                     {ptr, ptr, ptr, i32, i32, i32, i32, i32});
  DescribeAccesses(masked_function_);
  for (const auto attribute :
       {llvm::Attribute::NoAlias, llvm::Attribute::NoCapture}) {
    masked_function_->addParamAttr(2, attribute);
  }
  EmitFullFunction();
  EmitMaskedFunction(part);
  FinishFrame();
  return error_;
}

void KernelEmitter::EnterFunction(llvm::Function* function) {
  function_ = function;
  entry_ = llvm::BasicBlock::Create(b_.getContext(), "entry", function);
  b_.SetInsertPoint(entry_);
  launch_ = function->getArg(0);
  worker_ = function->getArg(1);
  function->addDereferenceableParamAttr(0, sizeof(LaunchContext));
  function->addDereferenceableParamAttr(1, sizeof(WorkerContext));
}

// Loads what stays the same for all blocks of a launch, once, at the entry.
void KernelEmitter::LoadSurroundings() {
  parameters_ = LoadField(launch_, offsetof(LaunchContext, parameters),
                          b_.getPtrTy(), true);
  shared_ = LoadField(worker_, offsetof(WorkerContext, shared), b_.getInt64Ty(),
                      true);
  local_ =
      LoadField(worker_, offsetof(WorkerContext, local), b_.getInt64Ty(), true);
  for (int i = 0; i < 3; ++i) {
    grid_[i] = LoadField(launch_, offsetof(LaunchContext, grid) + 4 * i,
                         b_.getInt32Ty(), true);
  }
}

// for each block: for each warp: body
void KernelEmitter::EmitFullFunction() {
  llvm::Type* ptr = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  mode_ = Mode::kFull;
  EnterFunction(b_.NewFunction(SymbolOf(Part::kFull), b_.getVoidTy(),
                               {ptr, ptr, i64, i64, i64, i64}));
  DescribeAccesses(function_);
  room_ = b_.CreateAlloca(b_.getInt8Ty(), b_.getInt64(0));
  room_->setAlignment(llvm::Align(WarpFrame::kAlignment));
  frame_ = room_;
  clear_ = b_.CreateMemSet(frame_, b_.getInt8(0), uint64_t{0},
                           llvm::Align(WarpFrame::kAlignment));
  b_.CreateStore(b_.I32(0), Slot(layout_.Spins()));
  LoadSurroundings();
  EmitBlockLoop();
}

// Both functions have said what they keep in it. Its fields start at zero, and
// what masked code leaves behind is as it was. Registers need not: masked code
// reads what full code gave it, or what it has written itself.
void KernelEmitter::FinishFrame() {
  room_->setOperand(0, b_.getInt64(layout_.bytes()));
  const bool leaves = !parting_.roots.empty() || !wrapping_.roots.empty();
  clear_->setArgOperand(2, b_.getInt64(leaves ? layout_.field_bytes() : 0));
}

// The linear number of a block becomes its coordinates once a block. The
// numbers of block and warp are stored in the worker's context as well, for the
// report of a fault. Behind the last block nothing is called: the runtime
// itself ends the warps.
void KernelEmitter::EmitBlockLoop() {
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Value* block_end = function_->getArg(3);
  llvm::Value* warp_begin = function_->getArg(4);
  llvm::Value* warp_end = function_->getArg(5);
  auto* block_loop = b_.NewBlock("block");
  auto* warp_loop = b_.NewBlock("warp");
  auto* warp_next = b_.NewBlock("warp.done");
  auto* block_next = b_.NewBlock("block.done");
  auto* leave = b_.NewBlock("leave");
  done_ = warp_next;
  auto* before = b_.GetInsertBlock();
  b_.CreateBr(block_loop);

  b_.SetInsertPoint(block_loop);
  auto* block = b_.CreatePHI(i64, 2, "block");
  block->addIncoming(function_->getArg(2), before);
  b_.CreateStore(block,
                 b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), worker_,
                                               offsetof(WorkerContext, block)));
  llvm::Value* rest = block;
  for (int i = 0; i < 3; ++i) {
    llvm::Value* extent = b_.CreateZExt(grid_[i], i64);
    llvm::Value* index = i < 2 ? b_.CreateURem(rest, extent) : rest;
    if (i < 2) rest = b_.CreateUDiv(rest, extent);
    block_index_[i] = b_.CreateTrunc(index, b_.getInt32Ty());
  }
  b_.CreateBr(warp_loop);

  b_.SetInsertPoint(warp_loop);
  auto* warp = b_.CreatePHI(i64, 2, "warp");
  warp->addIncoming(warp_begin, block_loop);
  b_.CreateStore(warp,
                 b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), worker_,
                                               offsetof(WorkerContext, warp)));
  warp_ = b_.CreateTrunc(warp, b_.getInt32Ty());
  EmitWarpBody();

  b_.SetInsertPoint(warp_next);
  llvm::Value* next_warp = b_.CreateAdd(warp, b_.getInt64(1));
  warp->addIncoming(next_warp, warp_next);
  b_.CreateCondBr(b_.CreateICmpULT(next_warp, warp_end), warp_loop, block_next);

  b_.SetInsertPoint(block_next);
  auto* again = b_.NewBlock("block.again");
  llvm::Value* next_block = b_.CreateAdd(block, b_.getInt64(1));
  b_.CreateCondBr(b_.CreateICmpULT(next_block, block_end), again, leave);
  b_.SetInsertPoint(again);
  if (kernel_.concurrent_warps) {
    CallRuntime("holdfast_block_ended", b_.getVoidTy(), {});
  }
  block->addIncoming(next_block, again);
  b_.CreateBr(block_loop);
  b_.SetInsertPoint(leave);
  b_.CreateRetVoid();
}

// The code of one warp. The last warp of a block may have fewer than 32
// threads: full code knows no such warp, so it goes to masked code at once.
void KernelEmitter::EmitWarpBody() {
  const size_t count = kernel_.blocks.size();
  if (count == 0) {
    b_.CreateBr(done_);
    return;
  }
  entry_number_ = b_.AllocaAtEntry(b_.getInt32Ty());
  for (size_t k = 0; k < count; ++k) {
    full_.push_back(b_.NewBlock(absl::StrCat("full", k)));
  }
  auto* start = b_.NewBlock("start");
  auto* initialised = b_.GetInsertBlock();
  b_.SetInsertPoint(start);
  const uint32_t tail = block_.threads() % analysis::kWarpLanes;
  if (tail == 0) {
    b_.CreateBr(full_[0]);
  } else {
    const uint32_t last_warp = block_.threads() / analysis::kWarpLanes;
    llvm::Value* bits = b_.I32((1u << tail) - 1);
    auto* partial = b_.NewBlock("partial");
    b_.CreateCondBr(b_.CreateICmpEQ(warp_, b_.I32(last_warp)), partial,
                    full_[0]);
    b_.SetInsertPoint(partial);
    LeaveFull(live_registers_[0], &parting_);
    b_.CreateStore(bits, Slot(layout_.Pending(0)));
    b_.CreateStore(bits, Slot(layout_.Live()));
    Diverge(0, &parting_);
  }
  for (size_t k = 0; k < count; ++k) {
    b_.SetInsertPoint(full_[k]);
    EmitBlock(k);
  }
  FindMasked();
  EmitDiverged();
  b_.SetInsertPoint(initialised);
  ClearStorage(Mode::kFull);
  b_.CreateBr(start);
}

// Registers start at zero, whatever reads them first. A store to those that are
// always written first would cost LLVM, when it makes values of them, a walk
// through the whole function for each.
void KernelEmitter::ClearStorage(Mode mode) {
  const auto& storage = storage_[static_cast<int>(mode)];
  for (size_t r = 0; r < storage.size(); ++r) {
    if (!live_registers_[0][r]) continue;
    for (llvm::AllocaInst* part : storage[r]) {
      b_.CreateStore(llvm::Constant::getNullValue(part->getAllocatedType()),
                     part);
    }
  }
}

// A way back costs more than its code: behind it nothing that full code has
// computed in front of it is known to be as it was, above all in loops. So
// there is none for warps that part only because a value wraps, which is rare,
// and partial ones never meet.
void KernelEmitter::FindMasked() {
  meets_ = ReachableFrom(parting_.roots);
  for (size_t k = 0; k < meets_.size(); ++k) {
    meets_[k] = meets_[k] && shapes_[0].meetings[k];
  }
  if (block_.threads() % analysis::kWarpLanes != 0) parting_.roots.insert(0);
  arrival_ = parting_;
  arrival_.roots.insert(wrapping_.roots.begin(), wrapping_.roots.end());
  arrival_.entries.insert(wrapping_.entries.begin(), wrapping_.entries.end());
  arrival_.handed.insert(wrapping_.handed.begin(), wrapping_.handed.end());
  split_ = !parting_.roots.empty() &&
           ReachableFrom(parting_.roots) != ReachableFrom(arrival_.roots);
}

// By block: whether masked code that starts at `roots` has it.
std::vector<bool> KernelEmitter::ReachableFrom(
    const std::set<int>& roots) const {
  std::vector<bool> reachable(kernel_.blocks.size(), false);
  std::vector<int> open(roots.begin(), roots.end());
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (at == lower::kExit || reachable[at]) continue;
    reachable[at] = true;
    for (const int next : analysis::Successors(kernel_, at))
      open.push_back(next);
  }
  for (size_t k = 0; k < reachable.size(); ++k) {
    if (shapes_[0].lane_loops[k] >= 0 &&
        !analysis::EntersScalarLoop(kernel_, shapes_[0].lane_loops, k)) {
      reachable[k] = false;
    }
  }
  return reachable;
}

// Masked code runs until the lanes have ended, or all meet at a block.
void KernelEmitter::EmitDiverged() {
  if (parting_.block == nullptr && wrapping_.block == nullptr) return;
  auto* met = b_.NewBlock("met");
  b_.SetInsertPoint(met);
  auto* meeting = b_.CreatePHI(b_.getInt32Ty(), 2);
  auto* next = b_.CreateSwitch(meeting, done_);
  for (const auto& [departure, part] :
       {std::pair{&parting_, Part::kMasked},
        std::pair{&wrapping_, split_ ? Part::kWrapped : Part::kMasked}}) {
    if (departure->block == nullptr) continue;
    b_.SetInsertPoint(departure->block);
    llvm::Value* result = CallMasked(part);
    meeting->addIncoming(result, b_.GetInsertBlock());
    b_.CreateBr(met);
  }
  for (size_t k = 0; k < full_.size(); ++k) {
    if (!meets_[k]) continue;
    auto* reenter = b_.NewBlock(absl::StrCat("reenter", k));
    next->addCase(b_.getInt32(static_cast<uint32_t>(k)), reenter);
    b_.SetInsertPoint(reenter);
    ReenterFull(k);
  }
}

// Returns the block at which full code goes on, or -1 if the warp has ended.
llvm::Value* KernelEmitter::CallMasked(Part part) {
  llvm::Value* function = MaskedFunction(part);
  llvm::CallInst* result = b_.CreateCall(
      masked_function_->getFunctionType(), function,
      {launch_, worker_, frame_, b_.CreateLoad(b_.getInt32Ty(), entry_number_),
       warp_, block_index_[0], block_index_[1], block_index_[2]});
  result->addParamAttr(2, llvm::Attribute::NoCapture);
  return result;
}

// The first warp that needs it has it made.
llvm::Value* KernelEmitter::MaskedFunction(Part part) {
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
  llvm::Value* now = CallRuntime("holdfast_masked_function", pointer, {slot});
  b_.CreateBr(call);
  b_.SetInsertPoint(call);
  auto* function = b_.CreatePHI(pointer, 2);
  function->addIncoming(made, before);
  function->addIncoming(now, make);
  return function;
}

// Blocks that masked code cannot reach are left out, which is most of the code
// of many kernels. Registers that its entries need are copied last, when all
// storage is known.
void KernelEmitter::EmitMaskedFunction(Part part) {
  mode_ = Mode::kMasked;
  if (split_ && part == Part::kMasked) arrival_ = parting_;
  masked_needed_ = ReachableFrom(arrival_.roots);
  EnterFunction(masked_function_);
  frame_ = function_->getArg(2);
  LoadSurroundings();
  warp_ = function_->getArg(4);
  for (int i = 0; i < 3; ++i) block_index_[i] = function_->getArg(5 + i);
  exec_ = b_.AllocaAtEntry(b_.getInt32Ty());
  b_.CreateStore(LoadI32(Slot(layout_.Resumed())), exec_);
  done_ = b_.NewBlock("done");
  idle_ = b_.NewBlock("idle");
  for (size_t k = 0; k < kernel_.blocks.size(); ++k) {
    const bool needed = masked_needed_[k];
    masked_.push_back(needed ? b_.NewBlock(absl::StrCat("masked", k))
                             : nullptr);
    dispatch_.push_back(needed ? b_.NewBlock(absl::StrCat("dispatch", k))
                               : nullptr);
    if (!needed || MeetingAt(k) == lower::ConvergencePoint::kNone) continue;
    const uint64_t parked = layout_.Parked(k);
    parked_[k] = {Slot(parked), Slot(parked + 4), Slot(parked + 8)};
  }
  auto* initialised = b_.GetInsertBlock();
  EmitMasked();
  b_.SetInsertPoint(done_);
  b_.CreateRet(b_.getInt32(-1));
  b_.SetInsertPoint(initialised);
  ClearStorage(Mode::kMasked);
  TakeOver();
  EmitEntries();
}

// Full code passes the number of a block, or of an instruction in front of
// which a block is to be resumed.
void KernelEmitter::EmitEntries() {
  auto* nowhere = b_.NewBlock("nowhere");
  auto* entries = b_.CreateSwitch(function_->getArg(3), nowhere);
  for (const int entry : arrival_.entries) {
    const auto resume = resume_blocks_.find(entry);
    entries->addCase(b_.getInt32(entry), resume == resume_blocks_.end()
                                             ? dispatch_[entry]
                                             : resume->second);
  }
  b_.SetInsertPoint(nowhere);
  b_.CreateUnreachable();
}

}  // namespace holdfast::software::jit
