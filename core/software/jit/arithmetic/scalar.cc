// SPDX-License-Identifier: Apache-2.0
//
// Sources go by arrays of 64-bit words, an element a lane or one for a scalar,
// and so does the result: one call for a chunk, whatever the types are.
#include "core/software/jit/arithmetic/scalar.h"

namespace holdfast::software::jit {

llvm::Value* CallScalar(Builder& ir, const std::string& name, Values in,
                        uint32_t option, llvm::Type* result) {
  const bool vector = in[0]->getType()->isVectorTy();
  const unsigned count = vector ? ir.lanes() : 1;
  llvm::Type* word = ir.getInt64Ty();
  const llvm::Align align(8);  // of an array, less than of a vector
  llvm::Type* array = llvm::ArrayType::get(word, count);
  llvm::Type* words = vector ? ir.VectorOf(word) : word;
  llvm::SmallVector<llvm::Value*, 6> arguments;
  for (llvm::Value* value : in) {
    const unsigned bits = value->getType()->getScalarSizeInBits();
    value = ir.CreateBitCast(value, ir.Like(value, ir.getIntNTy(bits)));
    llvm::AllocaInst* place = ir.AllocaAtEntry(array);
    ir.CreateAlignedStore(ir.CreateZExtOrTrunc(value, words), place, align);
    arguments.push_back(place);
  }
  // Those that the operation does not look at.
  while (arguments.size() < 3) arguments.push_back(arguments[0]);
  llvm::AllocaInst* place = ir.AllocaAtEntry(array);
  arguments.append({place, ir.I32(count), ir.I32(option)});
  llvm::SmallVector<llvm::Type*, 6> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  ir.CreateCall(ir.module()->getOrInsertFunction(
                    "holdfast_scalar_" + name,
                    llvm::FunctionType::get(ir.getVoidTy(), types, false)),
                arguments);
  llvm::Value* bits = ir.CreateAlignedLoad(words, place, align);
  llvm::Type* integer = ir.getIntNTy(result->getScalarSizeInBits());
  bits = ir.CreateZExtOrTrunc(bits, ir.Like(bits, integer));
  return ir.CreateBitCast(bits, ir.Like(bits, result));
}

}  // namespace holdfast::software::jit
