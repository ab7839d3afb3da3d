// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/kernel_emitter.h"

#include <utility>

#include "core/software/jit/full_function.h"
#include "core/software/jit/launch_values.h"
#include "core/software/jit/masked_path.h"
#include "core/software/jit/object_writer.h"

namespace holdfast::software::jit {

using analysis::Mode;

namespace {

// A function with masked code: (launch, worker, frame, entry, warp, block x, y,
// z) -> the block at which full code goes on, or -1.
llvm::Function* NewMaskedFunction(Builder& b, Part part) {
  llvm::Type* ptr = b.getPtrTy();
  llvm::Type* i32 = b.getInt32Ty();
  llvm::Function* function =
      b.NewFunction(SymbolOf(part == Part::kFull ? Part::kDivergent : part),
                    i32, {ptr, ptr, ptr, i32, i32, i32, i32, i32});
  DescribeAccesses(function);
  for (const auto attribute :
       {llvm::Attribute::NoAlias, llvm::Attribute::NoCapture}) {
    function->addParamAttr(2, attribute);
  }
  return function;
}

// Full code passes the number of a block, or of an instruction in front of
// which a block is to be resumed.
void EmitEntries(Builder& b, llvm::Value* number, const std::set<int>& entries,
                 const MaskedPath& path) {
  auto* nowhere = b.NewBlock("nowhere");
  auto* jump = b.CreateSwitch(number, nowhere);
  for (const int entry : entries) {
    jump->addCase(b.getInt32(entry), path.EntryOf(entry));
  }
  b.SetInsertPoint(nowhere);
  b.CreateUnreachable();
}

// Blocks that masked code cannot reach are left out, which is most of the code
// of many kernels. Registers that its entries need are copied last, when all
// storage is known.
// Order matters: code of the blocks comes first, since it asks for storage as
// it needs it; then the entry, in front of it, clears that storage and expands
// what full code has left; the switch comes last, when every entry has a block
// to go to.
void EmitMaskedFunction(const EmitContext& shared, llvm::Function* function,
                        const FullPathExits& exits, const MaskedPlan& plan) {
  FunctionEmitters emitters(shared);
  EmitContext& context = emitters.context;
  Builder& b = context.b;
  EnterFunction(&context, function);
  context.frame = function->getArg(2);
  LoadLaunchValues(&context);
  context.warp = function->getArg(4);
  for (int i = 0; i < 3; ++i) context.block_index[i] = function->getArg(5 + i);
  const FullPathReturn full_path(context, emitters.registers, emitters.notes);
  MaskedPath path(
      emitters, exits, plan,
      MaskedBlocksFrom(context.kernel, context.facts, plan.arrival.roots));
  path.CreateBlocks();
  auto* initialised = b.GetInsertBlock();
  path.EmitBlocks(full_path);
  b.SetInsertPoint(context.done);
  b.CreateRet(b.getInt32(-1));
  b.SetInsertPoint(initialised);
  emitters.registers.ClearStorage();
  full_path.LoadLiveOuts(plan.arrival.live_outs);
  EmitEntries(b, function->getArg(3), plan.arrival.entries, path);
}

}  // namespace

KernelEmitter::KernelEmitter(llvm::Module* module, const lower::Kernel& kernel,
                             const analysis::BlockShape& block, const Cpu& cpu)
    : kernel_(kernel),
      block_(block),
      cpu_(cpu),
      b_(module, cpu.lanes),
      facts_(kernel, block, cpu.lanes),
      layout_(kernel.blocks.size(), kernel.function->registers.size()) {}

EmitContext KernelEmitter::ContextOf(Mode mode) {
  return {.b = b_,
          .kernel = kernel_,
          .facts = facts_,
          .layout = layout_,
          .error = error_,
          .block = block_,
          .cpu = cpu_,
          .mode = mode};
}

// Full code comes first because it finds out where it has to be left.
// Masked code then begins at those places and nowhere else. The frame's size is
// known when both have reserved their fields.
std::optional<std::string> KernelEmitter::Emit(Part part) {
  llvm::Function* masked = NewMaskedFunction(b_, part);
  FullFunction full(ContextOf(Mode::kFull), masked->getFunctionType());
  full.Emit();
  MaskedPlan plan = full.plan();
  if (plan.split && part == Part::kDivergent) {
    plan.arrival = full.exits().divergence;
  }
  EmitMaskedFunction(ContextOf(Mode::kMasked), masked, full.exits(), plan);
  full.FinishFrame();
  return error_;
}

}  // namespace holdfast::software::jit
