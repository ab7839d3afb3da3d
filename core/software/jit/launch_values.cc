// SPDX-License-Identifier: Apache-2.0
//
// Everything here is invariant while a kernel runs, and dominates all code, so
// that LLVM keeps what is used often in registers and drops the rest.
#include "core/software/jit/launch_values.h"

#include "core/software/abi/abi.h"
#include "core/software/jit/object_writer.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

void EnterFunction(EmitContext* context, llvm::Function* function) {
  context->function = function;
  context->b.SetInsertPoint(
      llvm::BasicBlock::Create(context->b.getContext(), "entry", function));
  context->launch = function->getArg(0);
  context->worker = function->getArg(1);
  function->addDereferenceableParamAttr(0, sizeof(LaunchContext));
  function->addDereferenceableParamAttr(1, sizeof(WorkerContext));
}

void LoadLaunchValues(EmitContext* context) {
  Builder& b = context->b;
  const RuntimeCalls runtime(*context);
  const auto load = [&](llvm::Value* base, size_t offset, llvm::Type* type) {
    return runtime.LoadField(base, offset, type, /*invariant=*/true);
  };
  context->parameters =
      load(context->launch, offsetof(LaunchContext, parameters), b.getPtrTy());
  context->shared =
      load(context->worker, offsetof(WorkerContext, shared), b.getInt64Ty());
  context->shared_window =
      context->kernel.uses_cluster
          ? load(context->worker, offsetof(WorkerContext, cluster_shared),
                 b.getInt64Ty())
          : context->shared;
  context->local =
      load(context->worker, offsetof(WorkerContext, local), b.getInt64Ty());
  for (int i = 0; i < 3; ++i) {
    context->grid[i] = load(
        context->launch, offsetof(LaunchContext, grid) + 4 * i, b.getInt32Ty());
  }
  const analysis::BlockShape& block = context->block;
  context->extent = {b.I32(block.x), b.I32(block.y), b.I32(block.z)};
  if (block.any_row()) {
    context->extent[0] =
        load(context->launch, offsetof(LaunchContext, block), b.getInt32Ty());
  }
}

}  // namespace holdfast::software::jit
