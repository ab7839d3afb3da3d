// SPDX-License-Identifier: Apache-2.0
//
// Emits atom and red. Lanes take effect one by one, the lowest first, except
// where the order cannot be observed. The emitter uses the cheapest of these
// ways:
//
//   EmitTogether    for one address in all lanes, and no result: reduces the
//                   lanes to one value in registers, then one atomic operation
//   EmitUnrolled    if all lanes run, and no result: 32 operations in a row
//   EmitLoop        for everything else: a loop over the lanes that run
//   AtomicHalf      for 16-bit floats, in the loop of EmitLoop: compare and
//                   swap, because CPUs have no such operation
//
// Only the thread that runs a block accesses the block's shared memory. So an
// operation on shared memory is a load and a store.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ATOMIC_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ATOMIC_EMITTER_H_

#include "core/software/jit/access_marker.h"
#include "core/software/jit/addresses.h"

namespace holdfast::software::jit {

class AtomicEmitter {
 public:
  AtomicEmitter(const EmitContext& context, const Operands& operands,
                const Addresses& addresses)
      : c_(context),
        b_(context.b),
        v_(context.b),
        arrays_(context.b),
        runtime_(context),
        operands_(operands),
        addresses_(addresses) {}

  // Emits an instruction with the operands [d,] [a], b[, c][, policy]. Handles
  // the elements of a vector one after the other.
  void Emit(const Step& step) const;

 private:
  // The operands of one element. `result` is null if the instruction returns no
  // old value for the element; `swapped` is null unless the operation is cas.
  struct Element {
    const ptx::Operand* result;
    const ptx::Operand& operand;
    const ptx::Operand* swapped;
  };
  void EmitElement(const Step& step, const Element& element,
                   const Value& address) const;
  void EmitTogether(const Step& step, const Value& address, const Value& value,
                    llvm::Value* lanes) const;
  void EmitUnrolled(const Step& step, const Value& address,
                    const Value& value) const;
  // Returns an array of the old values, which has values only if `wanted`.
  llvm::AllocaInst* EmitLoop(const Step& step, const Value& address,
                             const Value& value, const Value* swapped,
                             llvm::Value* lanes, bool wanted) const;
  // Emit the operation of one lane at the address `place`. Return the old
  // value.
  llvm::Value* AtomicOne(const Step& step, llvm::Value* place,
                         llvm::Value* value, const AccessedLanes& lanes) const;
  llvm::Value* AtomicHalf(const Step& step, llvm::Value* place,
                          llvm::Value* value, const AccessedLanes& lanes) const;
  llvm::Value* CompareAndSwap(const Step& step, llvm::Value* place,
                              llvm::Value* expected, llvm::Value* value,
                              const AccessedLanes& lanes) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
  const RuntimeCalls runtime_;
  const Operands& operands_;
  const Addresses& addresses_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ATOMIC_EMITTER_H_
