// SPDX-License-Identifier: Apache-2.0
//
// Emits wmma: matrices that a warp loads, multiplies and stores as a whole.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_TILE_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_TILE_EMITTER_H_

#include "core/software/jit/addresses.h"
#include "core/software/jit/register_arrays.h"

namespace holdfast::software::jit {

class TileEmitter {
 public:
  TileEmitter(const EmitContext& context, const Operands& operands,
              const Addresses& addresses)
      : b_(context.b),
        arrays_(context.b),
        runtime_(context),
        operands_(operands),
        addresses_(addresses),
        registers_(context, operands) {}

  // Emits a wmma instruction. A load has the operands {r, ...}, [matrix],
  // stride. A store has the operands [matrix], {r, ...}, stride. A product has
  // the operands {d, ...}, {a, ...}, {b, ...}, {c, ...}.
  void Emit(const Step& step);

 private:
  struct Blocks;
  struct Arrays;

  static Blocks BlocksOf(const ptx::Modifiers& words);
  void EmitLoad(const Step& step);
  void EmitStore(const Step& step);
  void EmitProduct(const Step& step);
  void MultiplyBlocks(const Blocks& blocks, const Arrays& arrays) const;

  // Emits a call of the runtime's function `function`, which moves the elements
  // of the lanes that run between memory and the array `registers`.
  void Move(const Step& step, const char* function, const ptx::Operand& matrix,
            llvm::AllocaInst* registers) const;
  llvm::Value* StrideOf(const Step& step) const;

  Builder& b_;
  const LaneArrays arrays_;
  const RuntimeCalls runtime_;
  const Operands& operands_;
  const Addresses& addresses_;
  RegisterArrays registers_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_TILE_EMITTER_H_
