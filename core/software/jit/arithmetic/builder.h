// SPDX-License-Identifier: Apache-2.0
//
// LLVM's IRBuilder for functions in which a value is either a scalar, which is
// equal in all lanes, or a vector of the lanes of one chunk. The 32 lanes of a
// warp are divided into chunks of equal size (host_cpu.h).
//
// The functions named Create... and those that return a llvm::Value* emit code
// at the insertion point.
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
  // `lanes` is the number of lanes of a chunk.
  Builder(llvm::Module* module, int lanes)
      : IRBuilder(module->getContext()), module_(module), lanes_(lanes) {}

  llvm::Module* module() const { return module_; }
  int lanes() const { return lanes_; }

  // Returns the type of one lane's register: i1 for a predicate, float or
  // double for f32 or f64, else (also f16 and bf16) an integer of the type's
  // size.
  llvm::Type* TypeOf(ptx::Type type);
  // Returns the type of a vector of the lanes of one chunk.
  llvm::Type* VectorOf(llvm::Type* element);
  // Returns VectorOf(element) if `value` is a vector, else `element`.
  llvm::Type* Like(llvm::Value* value, llvm::Type* element);

  llvm::Value* I32(uint32_t value) { return getInt32(value); }
  // Returns a constant of the integer type of `value`: a scalar, or a vector
  // with equal elements.
  llvm::Value* ConstantLike(llvm::Value* value, uint64_t bits);
  // Returns a constant of type double: a vector with equal elements if `value`
  // is a vector, otherwise a scalar.
  llvm::Value* DoubleLike(llvm::Value* value, double constant);
  llvm::LoadInst* LoadI32(llvm::Value* place) {
    return CreateLoad(getInt32Ty(), place);
  }
  // Emits a fence over which LLVM moves no access to memory. The fence becomes
  // no CPU instruction.
  void CreateCompilerFence() {
    CreateFence(llvm::AtomicOrdering::SequentiallyConsistent,
                llvm::SyncScope::SingleThread);
  }
  // Returns a vector in which lane i has the value i * stride.
  llvm::Value* Iota(llvm::Type* element, int64_t stride);
  // Returns a vector of one chunk with `scalar` in all lanes.
  llvm::Value* Splat(llvm::Value* scalar);

  // Adds an external function without a body to the module, with the attributes
  // of all generated code.
  llvm::Function* NewFunction(const std::string& name, llvm::Type* result,
                              absl::Span<llvm::Type* const> parameters);
  // Add a block, or a variable on the stack, to the function that contains the
  // insertion point. Do not move the insertion point.
  llvm::BasicBlock* NewBlock(const std::string& name);
  llvm::AllocaInst* AllocaAtEntry(llvm::Type* type);

 private:
  llvm::Module* const module_;
  const int lanes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_BUILDER_H_
