// SPDX-License-Identifier: Apache-2.0
//
// LLVM's IRBuilder, for a function in which a value is a scalar, the same for
// all lanes, or a vector that has the lanes of one chunk of a warp.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BUILDER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BUILDER_H_

#include <string>

#include "absl/types/span.h"
#include "core/software/ptx/types.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace holdfast::software::jit {

using Values = absl::Span<llvm::Value* const>;

class Builder : public llvm::IRBuilder<> {
 public:
  // `lanes` are those of a chunk.
  Builder(llvm::Module* module, int lanes)
      : IRBuilder(module->getContext()), module_(module), lanes_(lanes) {}

  llvm::Module* module() const { return module_; }
  int lanes() const { return lanes_; }

  // The type of one lane in registers: predicates are i1, f16 and bf16
  // integers.
  llvm::Type* TypeOf(ptx::Type type);
  llvm::Type* VectorOf(llvm::Type* element);
  // `element`, or a vector of such if `value` is a vector.
  llvm::Type* Like(llvm::Value* value, llvm::Type* element);

  llvm::Value* I32(uint32_t value) { return getInt32(value); }
  llvm::Value* ConstantLike(llvm::Value* value, uint64_t bits);
  llvm::Value* DoubleLike(llvm::Value* value, double constant);
  llvm::LoadInst* LoadI32(llvm::Value* place) {
    return CreateLoad(getInt32Ty(), place);
  }
  // Keeps LLVM from moving accesses across; the CPU is not told.
  void CreateCompilerFence() {
    CreateFence(llvm::AtomicOrdering::SequentiallyConsistent,
                llvm::SyncScope::SingleThread);
  }
  // Lane i of the vector has i * stride.
  llvm::Value* Iota(llvm::Type* element, int64_t stride);
  llvm::Value* Splat(llvm::Value* scalar);

  // In the module; external, and with the attributes of all generated code.
  llvm::Function* NewFunction(const std::string& name, llvm::Type* result,
                              absl::Span<llvm::Type* const> parameters);
  // The rest is about the function that instructions are put into.
  llvm::BasicBlock* NewBlock(const std::string& name);
  llvm::AllocaInst* AllocaAtEntry(llvm::Type* type);

 private:
  llvm::Module* const module_;
  const int lanes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BUILDER_H_
