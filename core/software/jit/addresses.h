// SPDX-License-Identifier: Apache-2.0
//
// Computes the addresses of memory operands. Every emitted access must follow a
// Check(), which keeps kernels inside the memory that they may access
// (address_check.h).
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ADDRESSES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ADDRESSES_H_

#include "core/software/jit/address_check.h"
#include "core/software/jit/operands.h"

namespace holdfast::software::jit {

class Addresses {
 public:
  Addresses(const EmitContext& context, const Operands& operands,
            BlockNotes& notes)
      : c_(context),
        b_(context.b),
        v_(context.b),
        check_(context, notes),
        operands_(operands),
        notes_(notes) {}

  // Returns the 64-bit addresses in this process of the operand, including its
  // offset. Emits code that computes them, but no check.
  Value Of(const Step& step, const ptx::Operand& operand,
           ptx::Space space) const;
  // Emits the check of `address`, the address of `operand`, which the
  // instruction will access. Emits nothing if the address is known to be good.
  void Check(const Step& step, const ptx::Operand& operand, ptx::Space space,
             const Value& address) const {
    check_.Emit(step, operand, space, address);
  }
  // Returns `address` if `wanted` (i1) is true, otherwise an address that can
  // always be read.
  llvm::Value* SafeAddress(llvm::Value* address, llvm::Value* wanted) const;

 private:
  Value StartOf(const Step& step, const ptx::Operand& operand,
                ptx::Space space) const;
  Value ReadStart(const Step& step, const ptx::Operand& operand) const;
  llvm::Value* BaseOf(const ptx::Operand& operand, ptx::Space space) const;
  llvm::Value* Widened(llvm::Value* part, ptx::Space space) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const AddressCheck check_;
  const Operands& operands_;
  BlockNotes& notes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ADDRESSES_H_
