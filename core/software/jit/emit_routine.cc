// SPDX-License-Identifier: Apache-2.0
//
// Operations that are computed by many instructions, such as ex2, are functions
// of their own, called for each chunk: four times as much code would take LLVM
// four times as long.
#include "absl/strings/str_cat.h"
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;

namespace {

using Values = absl::Span<llvm::Value* const>;

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

}  // namespace

// Of those whose code is instructions only: no calls, and no blocks.
bool KernelEmitter::IsRoutine(const Instruction& instruction) {
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

llvm::Value* KernelEmitter::CallRoutine(const Instruction& instruction,
                                        Values in) {
  const std::string name = RoutineName(instruction, in);
  llvm::Function* routine = module_->getFunction(name);
  if (routine == nullptr) routine = EmitRoutine(name, instruction, in);
  if (routine == nullptr) return nullptr;
  return b_.CreateCall(routine, llvm::ArrayRef(in.data(), in.size()));
}

// Null: there is no such operation.
llvm::Function* KernelEmitter::EmitRoutine(const std::string& name,
                                           const Instruction& instruction,
                                           Values in) {
  const auto caller = b_.saveIP();
  llvm::Function* const outer = function_;
  llvm::SmallVector<llvm::Type*, 4> types;
  for (llvm::Value* value : in) types.push_back(value->getType());
  function_ =
      NewFunction(name, VectorOf(TypeOf(instruction.type())),
                  absl::Span<llvm::Type* const>(types.data(), types.size()));
  function_->setLinkage(llvm::Function::InternalLinkage);
  function_->setDoesNotAccessMemory();
  function_->setWillReturn();
  b_.SetInsertPoint(NewBlock("entry"));
  llvm::SmallVector<llvm::Value*, 4> arguments;
  for (llvm::Argument& argument : function_->args()) {
    arguments.push_back(&argument);
  }
  llvm::Function* routine = function_;
  if (llvm::Value* result = Compute(instruction, arguments)) {
    b_.CreateRet(result);
  } else {
    routine->eraseFromParent();
    routine = nullptr;
  }
  function_ = outer;
  b_.restoreIP(caller);
  return routine;
}

}  // namespace holdfast::software::jit
