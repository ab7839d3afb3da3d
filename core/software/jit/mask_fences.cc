// SPDX-License-Identifier: Apache-2.0
//
// LLVM 19 cannot select some combinations of masks that lie in scalar
// registers: an | or ^ of bits that then becomes a vector of i1. Both steps
// keep such a combination on the scalar side. First, masks that were made of
// scalars are combined as these scalars. Then, where a combined scalar becomes
// a mask, an empty piece of assembly stands in between, so that instruction
// selection does not see both at once.
#include "core/software/jit/mask_fences.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/PatternMatch.h"

namespace holdfast::software::jit {
namespace {

using llvm::Value;
using llvm::PatternMatch::m_BitCast;
using llvm::PatternMatch::m_LogicalOr;
using llvm::PatternMatch::m_Value;
using llvm::PatternMatch::m_Xor;
using llvm::PatternMatch::match;

bool IsMask(const Value* value) {
  return value->getType()->isVectorTy() &&
         value->getType()->getScalarType()->isIntegerTy(1);
}

// An empty piece of assembly, into which LLVM does not look.
Value* Fence(llvm::IRBuilder<>* b, Value* scalar) {
  llvm::Type* type = scalar->getType();
  auto* code = llvm::InlineAsm::get(llvm::FunctionType::get(type, type, false),
                                    "", "=r,0", /*hasSideEffects=*/false);
  llvm::CallInst* call = b->CreateCall(code, scalar);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  return call;
}

// Masks that are scalars already are combined as such.
void CombineScalars(llvm::Instruction* combination) {
  Value *x = nullptr, *y = nullptr;
  const auto scalar = [](Value** from) { return m_BitCast(m_Value(*from)); };
  const bool is_xor = match(combination, m_Xor(scalar(&x), scalar(&y)));
  if (!is_xor && !match(combination, m_LogicalOr(scalar(&x), scalar(&y)))) {
    return;
  }
  if (!x->getType()->isIntegerTy() || !y->getType()->isIntegerTy()) return;
  llvm::IRBuilder<> b(combination);
  Value* sum = is_xor ? b.CreateXor(x, y) : b.CreateOr(x, b.CreateFreeze(y));
  combination->replaceAllUsesWith(b.CreateBitCast(sum, combination->getType()));
  combination->eraseFromParent();
}

// For what was combined before it became a mask.
void FenceSource(llvm::BitCastInst* cast) {
  Value* source = cast->getOperand(0);
  if (!source->getType()->isIntegerTy()) return;
  const Value* origin = source;
  while (llvm::isa<llvm::TruncInst, llvm::LShrOperator>(origin)) {
    origin = llvm::cast<llvm::User>(origin)->getOperand(0);
  }
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(origin);
  if (operation == nullptr ||
      (operation->getOpcode() != llvm::Instruction::Or &&
       operation->getOpcode() != llvm::Instruction::Xor)) {
    return;
  }
  llvm::IRBuilder<> b(cast);
  cast->setOperand(0, Fence(&b, source));
}

}  // namespace

void FenceMasks(llvm::Function* function) {
  // In a block, operands come before what they are combined to, so that a
  // combination of combinations finds scalars, too.
  for (llvm::BasicBlock& block : *function) {
    for (llvm::Instruction& at : llvm::make_early_inc_range(block)) {
      if (IsMask(&at)) CombineScalars(&at);
    }
  }
  for (llvm::BasicBlock& block : *function) {
    for (llvm::Instruction& at : llvm::make_early_inc_range(block)) {
      auto* cast = llvm::dyn_cast<llvm::BitCastInst>(&at);
      if (cast != nullptr && IsMask(cast)) FenceSource(cast);
    }
  }
}

}  // namespace holdfast::software::jit
