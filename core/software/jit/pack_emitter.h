// SPDX-License-Identifier: Apache-2.0
//
// Emits mov between a register and its parts.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_PACK_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_PACK_EMITTER_H_

#include "core/software/jit/operands.h"

namespace holdfast::software::jit {

class PackEmitter {
 public:
  PackEmitter(const EmitContext& context, const Operands& operands)
      : c_(context), b_(context.b), v_(context.b), operands_(operands) {}

  // Emits an instruction such as mov.b64 %rd, {%lo, %hi}. The first element is
  // the lowest part.
  void EmitPack(const Step& step) const;
  // Emits an instruction such as mov.b64 {%lo, %hi}, %rd. Sets an error
  // (EmitContext::Fail) if the instruction is no mov.
  void EmitUnpack(const Step& step) const;

 private:
  // Returns the bits of `whole` from bit `shift` on, as the type `narrow`.
  Value PartAt(const Value& whole, int shift, ptx::Type narrow) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const Operands& operands_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_PACK_EMITTER_H_
