// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/arithmetic/builder.h"

namespace holdfast::software::jit {

using ptx::Type;

llvm::Type* Builder::TypeOf(Type type) {
  switch (type) {
    case Type::kF32:
      return getFloatTy();
    case Type::kF64:
      return getDoubleTy();
    default:
      return getIntNTy(ptx::BitsOf(type));
  }
}

llvm::Type* Builder::VectorOf(llvm::Type* element) {
  return llvm::FixedVectorType::get(element, lanes_);
}

llvm::Type* Builder::Like(llvm::Value* value, llvm::Type* element) {
  return value->getType()->isVectorTy() ? VectorOf(element) : element;
}

llvm::Value* Builder::ConstantLike(llvm::Value* value, uint64_t bits) {
  return llvm::ConstantInt::get(value->getType(), bits);
}

llvm::Value* Builder::DoubleLike(llvm::Value* value, double constant) {
  return llvm::ConstantFP::get(Like(value, getDoubleTy()), constant);
}

llvm::Value* Builder::Iota(llvm::Type* element, int64_t stride) {
  llvm::SmallVector<llvm::Constant*, 16> values;
  for (int i = 0; i < lanes_; ++i) {
    values.push_back(llvm::ConstantInt::get(element, stride * i, true));
  }
  return llvm::ConstantVector::get(values);
}

llvm::Value* Builder::Splat(llvm::Value* scalar) {
  return CreateVectorSplat(lanes_, scalar);
}

llvm::Function* Builder::NewFunction(const std::string& name,
                                     llvm::Type* result,
                                     absl::Span<llvm::Type* const> parameters) {
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(
          result, llvm::ArrayRef(parameters.data(), parameters.size()), false),
      llvm::Function::ExternalLinkage, name, module_);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  // An access to address 0 is a fault to report, not undefined behaviour that
  // LLVM may build on.
  function->addFnAttr(llvm::Attribute::NullPointerIsValid);
  // A large frame must meet the guard page below a warp's stack.
  function->addFnAttr("probe-stack", "inline-asm");
  // Else LLVM splits vectors of 512 bits in two, lest the CPU lower its clock.
  const std::string width = lanes_ >= 16 ? "512" : "256";
  function->addFnAttr("prefer-vector-width", width);
  function->addFnAttr("min-legal-vector-width", width);
  return function;
}

llvm::BasicBlock* Builder::NewBlock(const std::string& name) {
  return llvm::BasicBlock::Create(getContext(), name,
                                  GetInsertBlock()->getParent());
}

// At the entry, so that it is one place however often code comes by, and SROA
// can turn it into values.
llvm::AllocaInst* Builder::AllocaAtEntry(llvm::Type* type) {
  llvm::BasicBlock& entry = GetInsertBlock()->getParent()->getEntryBlock();
  return llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
}

}  // namespace holdfast::software::jit
