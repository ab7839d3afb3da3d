// SPDX-License-Identifier: Apache-2.0
//
// Emits any instruction except a branch, for the lanes of a Step. Owns the
// emitters of all families of instructions, and selects an emitter by the
// opcode.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_INSTRUCTION_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_INSTRUCTION_EMITTER_H_

#include "core/software/jit/arithmetic_emitter.h"
#include "core/software/jit/async_emitter.h"
#include "core/software/jit/atomic_emitter.h"
#include "core/software/jit/bulk_emitter.h"
#include "core/software/jit/call_emitter.h"
#include "core/software/jit/matrix_emitter.h"
#include "core/software/jit/memory_emitter.h"
#include "core/software/jit/tile_emitter.h"
#include "core/software/jit/warp_emitter.h"

namespace holdfast::software::jit {

class InstructionEmitter {
 public:
  // The arguments must outlive this object.
  InstructionEmitter(const EmitContext& context, Registers& registers,
                     BlockNotes& notes);
  InstructionEmitter(const InstructionEmitter&) = delete;
  InstructionEmitter& operator=(const InstructionEmitter&) = delete;

  // Emits the instruction of `step` with its guard. A guard that is equal in
  // all lanes becomes a branch. A guard that varies becomes the guard of the
  // lanes: the instruction has no effect in lanes whose guard is false.
  // REQUIRES: step.lanes.guard is null.
  void Emit(const Step& step);
  // Emits the instruction of `step`, and ignores the instruction's own guard.
  void EmitUnguarded(const Step& step);

  // Sets the check for affine values that are widened. Null, the default: there
  // is no check. `check` must outlive this object.
  void set_overflow_check(OverflowCheck* check) {
    arithmetic_.set_overflow_check(check);
  }
  const Operands& operands() const { return operands_; }

 private:
  Builder& b_;
  const LaneValues v_;
  BlockNotes& notes_;
  const Operands operands_;
  const Addresses addresses_;
  const MemoryAccess access_;
  const MemoryEmitter memory_;
  const AtomicEmitter atomics_;
  const WarpEmitter warp_;
  const AsyncEmitter async_;
  const BulkEmitter bulk_;
  const CallEmitter calls_;
  MatrixEmitter matrices_;
  TileEmitter tiles_;
  ArithmeticEmitter arithmetic_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_INSTRUCTION_EMITTER_H_
