// SPDX-License-Identifier: Apache-2.0
//
// Calls of functions that the runtime provides, for all running lanes at once:
// an array of 32 values for each argument and for the result.
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using analysis::LaneShape;
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

void KernelEmitter::EmitCall(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  const std::string& name =
      kernel_.module->functions[operands[instruction.results].index].name;
  // As 64-bit values, whatever they are.
  std::vector<Value> arguments;
  for (size_t i = instruction.results + 1; i < operands.size(); ++i) {
    arguments.push_back(
        As(Read(operands[i], TypeOfOperand(operands[i])), Type::kU64));
  }
  llvm::AllocaInst* results =
      CallForLanes("holdfast_device_" + name, {}, arguments);
  if (instruction.results == 1) {
    Write(operands[0], LoadLanes(results, Type::kU64));
  }
}

// name(worker, lanes, options..., arrays..., results), unless no lane runs.
// Returns the array of 64-bit results.
llvm::AllocaInst* KernelEmitter::CallForLanes(
    const std::string& name, absl::Span<llvm::Value* const> options,
    absl::Span<const Value> arguments) {
  llvm::Value* lanes = LaneMask();
  if (lanes == nullptr) lanes = b_.I32(~0u);
  llvm::SmallVector<llvm::Value*, 8> in = {lanes};
  in.append(options.begin(), options.end());
  for (const Value& argument : arguments) {
    in.push_back(Spill(Reshape(argument, LaneShape::Varying())));
  }
  llvm::AllocaInst* results = b_.AllocaAtEntry(
      llvm::ArrayType::get(b_.getInt64Ty(), analysis::kWarpLanes));
  in.push_back(results);
  auto* call = b_.NewBlock("call");
  auto* after = b_.NewBlock("called");
  b_.CreateCondBr(b_.CreateICmpNE(lanes, b_.I32(0)), call, after);
  b_.SetInsertPoint(call);
  NoteInstruction();
  CallRuntime(name.c_str(), b_.getVoidTy(), in);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  return results;
}

Type KernelEmitter::TypeOfOperand(const Operand& operand) const {
  return operand.kind == Operand::Kind::kRegister
             ? kernel_.function->registers[operand.index].type
             : Type::kU64;
}

}  // namespace holdfast::software::jit
