// SPDX-License-Identifier: Apache-2.0
//
// Operations that have a scalar definition only (core/software/semantics): one
// call for the lanes of a chunk.
#include "core/software/jit/kernel_emitter.h"

namespace holdfast::software::jit {

using Values = absl::Span<llvm::Value* const>;

// `in` are up to three integers or floating-point numbers, all scalars or all
// vectors; `result` is the type of one lane's result. Lanes that do not run
// are computed, too, which does no harm.
llvm::Value* KernelEmitter::CallScalar(const std::string& name, Values in,
                                       uint32_t option, llvm::Type* result) {
  const bool vector = in[0]->getType()->isVectorTy();
  const unsigned count = vector ? lanes_ : 1;
  llvm::Type* word = b_.getInt64Ty();
  const llvm::Align align(8);  // of an array, less than of a vector
  llvm::Type* array = llvm::ArrayType::get(word, count);
  llvm::Type* words = vector ? VectorOf(word) : word;
  llvm::SmallVector<llvm::Value*, 6> arguments;
  for (llvm::Value* value : in) {
    const unsigned bits = value->getType()->getScalarSizeInBits();
    value = b_.CreateBitCast(value, Like(value, b_.getIntNTy(bits)));
    llvm::AllocaInst* place = Alloca(array);
    b_.CreateAlignedStore(b_.CreateZExtOrTrunc(value, words), place, align);
    arguments.push_back(place);
  }
  // Those that the operation does not look at.
  while (arguments.size() < 3) arguments.push_back(arguments[0]);
  llvm::AllocaInst* place = Alloca(array);
  arguments.append({place, I32(count), I32(option)});
  llvm::SmallVector<llvm::Type*, 6> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  b_.CreateCall(module_->getOrInsertFunction(
                    "holdfast_scalar_" + name,
                    llvm::FunctionType::get(b_.getVoidTy(), types, false)),
                arguments);
  llvm::Value* bits = b_.CreateAlignedLoad(words, place, align);
  llvm::Type* integer = b_.getIntNTy(result->getScalarSizeInBits());
  bits = b_.CreateZExtOrTrunc(bits, Like(bits, integer));
  return b_.CreateBitCast(bits, Like(bits, result));
}

}  // namespace holdfast::software::jit
