// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "core/software/jit/kernel_emitter.h"
#include "core/software/runtime/abi.h"

namespace holdfast::software::jit {

KernelEmitter::KernelEmitter(llvm::Module* module, const lower::Kernel& kernel,
                             const lower::BlockShape& block, int chunk_lanes)
    : module_(module),
      context_(module->getContext()),
      kernel_(kernel),
      block_(block),
      lanes_(chunk_lanes),
      chunks_(lower::kWarpLanes / chunk_lanes),
      b_(module->getContext()) {}

llvm::BasicBlock* KernelEmitter::NewBlock(const std::string& name) {
  return llvm::BasicBlock::Create(context_, name, function_);
}

void KernelEmitter::Fail(const ptx::Instruction& instruction,
                         std::string reason) {
  if (error_) return;
  error_ = absl::StrCat(instruction.location.line, ":",
                        instruction.location.column, ": ", reason);
}

llvm::AllocaInst* KernelEmitter::Alloca(llvm::Type* type) {
  llvm::IRBuilder<> builder(entry_, entry_->begin());
  return builder.CreateAlloca(type);
}

llvm::Value* KernelEmitter::LoadField(llvm::Value* base, size_t offset,
                                      llvm::Type* type, bool invariant) {
  llvm::LoadInst* load = b_.CreateLoad(
      type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset));
  load->setAlignment(llvm::Align(1));
  if (invariant) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(context_, {}));
  }
  return load;
}

std::optional<std::string> KernelEmitter::Emit(const std::string& symbol) {
  for (Mode mode : {Mode::kFull, Mode::kMasked}) {
    shapes_[static_cast<int>(mode)] =
        lower::ComputeShapes(kernel_, block_, mode, lanes_);
  }
  ever_read_.resize(kernel_.function->registers.size(), false);
  for (const ptx::Instruction& instruction : kernel_.function->body) {
    for (uint32_t r : lower::RegistersRead(instruction)) ever_read_[r] = true;
  }
  live_registers_ = lower::LiveRegisters(kernel_);
  llvm::Type* ptr = b_.getPtrTy();
  llvm::Type* i64 = b_.getInt64Ty();
  function_ = llvm::Function::Create(
      llvm::FunctionType::get(b_.getVoidTy(), {ptr, ptr, i64, i64, i64, i64},
                              false),
      llvm::Function::ExternalLinkage, symbol, module_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  function_->addFnAttr(llvm::Attribute::NullPointerIsValid);
  const std::string width = lanes_ >= 16 ? "512" : "256";
  function_->addFnAttr("prefer-vector-width", width);
  function_->addFnAttr("min-legal-vector-width", width);
  EmitFrame();
  return error_;
}

// for each block: for each warp: body
void KernelEmitter::EmitFrame() {
  entry_ = NewBlock("entry");
  b_.SetInsertPoint(entry_);
  launch_ = function_->getArg(0);
  worker_ = function_->getArg(1);
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
  EmitBlockLoop();
}

void KernelEmitter::EmitBlockLoop() {
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Value* block_end = function_->getArg(3);
  llvm::Value* warp_begin = function_->getArg(4);
  llvm::Value* warp_end = function_->getArg(5);
  auto* block_loop = NewBlock("block");
  auto* warp_loop = NewBlock("warp");
  auto* warp_next = NewBlock("warp.done");
  auto* block_next = NewBlock("block.done");
  auto* leave = NewBlock("leave");
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
  llvm::Value* next_block = b_.CreateAdd(block, b_.getInt64(1));
  block->addIncoming(next_block, block_next);
  b_.CreateCondBr(b_.CreateICmpULT(next_block, block_end), block_loop, leave);
  b_.SetInsertPoint(leave);
  b_.CreateRetVoid();
}

// The last warp of a block may have fewer than 32 threads.
void KernelEmitter::EmitWarpBody() {
  const size_t count = kernel_.blocks.size();
  for (int mode = 0; mode < 2; ++mode) {
    storage_[mode].resize(kernel_.function->registers.size());
  }
  auto zero = [this] {
    llvm::AllocaInst* place = Alloca(b_.getInt32Ty());
    b_.CreateStore(I32(0), place);
    return place;
  };
  exec_ = zero();
  again_ = zero();
  spins_ = zero();
  live_ = zero();
  idle_ = NewBlock("idle");
  for (size_t k = 0; k < count; ++k) {
    pending_.push_back(zero());
    const lower::Meeting meeting =
        lower::MeetingOf(kernel_.function->body[kernel_.blocks[k].first]);
    if (meeting != lower::Meeting::kNone) {
      parked_[k] = {zero(), zero(), zero()};
      block_meetings_ = block_meetings_ || meeting == lower::Meeting::kBlock;
    }
    full_.push_back(NewBlock(absl::StrCat("full", k)));
    masked_.push_back(NewBlock(absl::StrCat("masked", k)));
    dispatch_.push_back(NewBlock(absl::StrCat("dispatch", k)));
  }
  if (count == 0) {
    b_.CreateBr(done_);
    b_.SetInsertPoint(idle_);
    b_.CreateBr(done_);
    return;
  }
  // Registers start at zero, whatever reads them first.
  auto* start = NewBlock("start");
  auto* initialised = b_.GetInsertBlock();
  b_.SetInsertPoint(start);
  llvm::Value* partial = nullptr;
  llvm::Value* bits = nullptr;
  const uint32_t tail = block_.threads() % lower::kWarpLanes;
  if (tail != 0) {
    const uint32_t last_warp = block_.threads() / lower::kWarpLanes;
    partial = b_.CreateICmpEQ(warp_, I32(last_warp));
    bits = I32((1u << tail) - 1);
  }
  if (partial == nullptr) {
    b_.CreateBr(full_[0]);
  } else {
    auto* masked_start = NewBlock("start.masked");
    b_.CreateCondBr(partial, masked_start, full_[0]);
    b_.SetInsertPoint(masked_start);
    b_.CreateStore(bits, pending_[0]);
    b_.CreateStore(bits, live_);
    b_.CreateBr(dispatch_[0]);
  }
  EmitFull();
  EmitMasked();
  b_.SetInsertPoint(initialised);
  for (int mode = 0; mode < 2; ++mode) {
    for (auto& parts : storage_[mode]) {
      for (llvm::AllocaInst* part : parts) {
        b_.CreateStore(llvm::Constant::getNullValue(part->getAllocatedType()),
                       part);
      }
    }
  }
  b_.CreateBr(start);
}

}  // namespace holdfast::software::jit
