// SPDX-License-Identifier: Apache-2.0
//
// A routine is named after all that its code depends on, opcode, types, words
// and the number of sources, so that one serves all instructions alike. It is
// internal to the module, reads no memory and always returns, so that LLVM may
// join and hoist calls.
#include "core/software/jit/arithmetic/routine.h"

#include "absl/strings/str_cat.h"
#include "core/software/jit/arithmetic/compute.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;

namespace {

std::string RoutineName(const Instruction& instruction, Values in) {
  std::string name =
      absl::StrCat("routine_", static_cast<int>(instruction.opcode()));
  for (const ptx::Type type : instruction.modifiers.types) {
    absl::StrAppend(&name, "_", static_cast<int>(type));
  }
  for (const Modifier word : instruction.modifiers.words) {
    absl::StrAppend(&name, "_", static_cast<int>(word));
  }
  return absl::StrCat(name, "_of_", in.size());
}

// Null: there is no such operation.
llvm::Function* EmitRoutine(Builder& ir, const std::string& name,
                            const Instruction& instruction, Values in) {
  const auto caller = ir.saveIP();
  llvm::SmallVector<llvm::Type*, 4> types;
  for (llvm::Value* value : in) types.push_back(value->getType());
  llvm::Function* routine =
      ir.NewFunction(name, ir.VectorOf(ir.TypeOf(instruction.type())),
                     absl::Span<llvm::Type* const>(types.data(), types.size()));
  routine->setLinkage(llvm::Function::InternalLinkage);
  routine->setDoesNotAccessMemory();
  routine->setWillReturn();
  ir.SetInsertPoint(
      llvm::BasicBlock::Create(ir.getContext(), "entry", routine));
  llvm::SmallVector<llvm::Value*, 4> arguments;
  for (llvm::Argument& argument : routine->args()) {
    arguments.push_back(&argument);
  }
  if (llvm::Value* result = Compute(ir, instruction, arguments)) {
    ir.CreateRet(result);
  } else {
    routine->eraseFromParent();
    routine = nullptr;
  }
  ir.restoreIP(caller);
  return routine;
}

}  // namespace

// Operations that become dozens of vector instructions.
bool IsRoutine(const Instruction& instruction) {
  if (instruction.type() != ptx::Type::kF32) return false;
  switch (instruction.opcode()) {
    case Opcode::kEx2:
    case Opcode::kLg2:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kTanh:
      return true;
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kMul:
    case Opcode::kFma:
    case Opcode::kMad:
      return instruction.modifiers.In(Modifier::kRz, Modifier::kRp).has_value();
    default:
      return false;
  }
}

llvm::Value* CallRoutine(Builder& ir, const Instruction& instruction,
                         Values in) {
  const std::string name = RoutineName(instruction, in);
  llvm::Function* routine = ir.module()->getFunction(name);
  if (routine == nullptr) routine = EmitRoutine(ir, name, instruction, in);
  if (routine == nullptr) return nullptr;
  return ir.CreateCall(routine, llvm::ArrayRef(in.data(), in.size()));
}

}  // namespace holdfast::software::jit
