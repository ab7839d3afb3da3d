// SPDX-License-Identifier: Apache-2.0
//
// A function of the runtime gets arrays of 32 values, one for each argument,
// and the bits of the lanes that call. It runs once for the whole warp.
#include "core/software/jit/call_emitter.h"

#include <cstddef>

#include "core/software/abi/abi.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Type;

void CallEmitter::EmitCall(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  const std::string& name =
      c_.kernel.module->functions[operands[instruction.results].index].name;
  // As 64-bit values, whatever they are.
  std::vector<Value> arguments;
  for (size_t i = instruction.results + 1; i < operands.size(); ++i) {
    arguments.push_back(v_.As(
        operands_.Read(step.lanes, operands[i], operands_.TypeOf(operands[i])),
        Type::kU64));
  }
  llvm::AllocaInst* results =
      runtime_.CallForLanes(step, "holdfast_device_" + name, {}, arguments);
  if (instruction.results == 1) {
    operands_.Write(step.lanes, operands[0],
                    arrays_.LoadLanes(results, Type::kU64));
  }
}

// Ends the launch if any lane runs it.
void CallEmitter::EmitTrap(const Step& step) const {
  const Instruction& instruction = step.instruction;
  const auto& operands = instruction.operands;
  llvm::Value* lanes = step.lanes.MaskOrAll(b_);
  auto* trap = b_.NewBlock("trap");
  auto* go_on = b_.NewBlock("no_trap");
  b_.CreateCondBr(b_.CreateICmpNE(lanes, b_.I32(0)), trap, go_on);
  b_.SetInsertPoint(trap);
  runtime_.NoteInstruction(step);
  const uint64_t reason = operands.empty() ? 0 : operands[0].bits;
  runtime_.Call("holdfast_trap", b_.getVoidTy(),
                {lanes, b_.I32(static_cast<uint32_t>(reason))});
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

void CallEmitter::LetOthersRead(const Step& step) const {
  if (!c_.facts.early_stores[step.IndexIn(c_.kernel)]) return;
  auto* wait = b_.NewBlock("behind_barrier");
  auto* go_on = b_.NewBlock("others_have_read");
  llvm::Value* is_ahead = runtime_.LoadField(
      c_.worker, offsetof(WorkerContext, is_ahead), b_.getInt32Ty(),
      /*invariant=*/false);
  b_.CreateCondBr(b_.CreateICmpNE(is_ahead, b_.I32(0)), wait, go_on);
  b_.SetInsertPoint(wait);
  runtime_.Call("holdfast_let_others_read", b_.getVoidTy(), {});
  b_.CreateBr(go_on);
  b_.SetInsertPoint(go_on);
}

void CallEmitter::EmitYield() const {
  runtime_.Call("holdfast_yield", b_.getVoidTy(), {});
}

}  // namespace holdfast::software::jit
