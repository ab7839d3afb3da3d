// SPDX-License-Identifier: Apache-2.0
//
// Emits cp.async, which copies asynchronously to shared memory, and mbarrier,
// which operates on barriers that report the completion of copies. The emitted
// code copies synchronously, so that a copy is done before an instruction waits
// for it.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ASYNC_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ASYNC_EMITTER_H_

#include <optional>

#include "core/software/jit/memory_access.h"

namespace holdfast::software::jit {

class AsyncEmitter {
 public:
  AsyncEmitter(const EmitContext& context, const Operands& operands,
               const Addresses& addresses, const MemoryAccess& memory,
               BlockNotes& notes)
      : c_(context),
        b_(context.b),
        v_(context.b),
        arrays_(context.b),
        runtime_(context),
        operands_(operands),
        addresses_(addresses),
        memory_(memory),
        notes_(notes) {}

  // Emits cp.async. Operands: [to], [from], bytes[, bytes of the source or a
  // predicate][, policy]. For the instructions that wait for copies, emits only
  // a fence for the compiler.
  void EmitCopy(const Step& step) const;
  // Emits mbarrier. Operands: [d,] [a][, b][, hint]; for pending_count: d,
  // state.
  void EmitMbarrier(const Step& step) const;
  // Emits the report of st.async and red.async to their barrier that the bytes
  // at `a` were stored. Operands: [a], b, [barrier].
  void EmitCompletion(const Step& step) const;
  // Emits a report to the barrier at `operand` that `bytes` bytes (u64) have
  // arrived.
  void EmitCompletion(const Step& step, const ptx::Operand& operand,
                      ptx::Space space, const Value& bytes) const;

 private:
  void CheckSource(const Step& step, const ptx::Operand& operand,
                   const Value& from, const std::optional<Value>& valid) const;
  Value WantedFrom(const Value& valid, uint32_t at) const;
  Value ValidBytes(const Step& step, const ptx::Operand& operand,
                   int bytes) const;
  Value LoadValid(const Step& step, const Value& from, const Value& valid,
                  uint32_t at) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
  const RuntimeCalls runtime_;
  const Operands& operands_;
  const Addresses& addresses_;
  const MemoryAccess& memory_;
  BlockNotes& notes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ASYNC_EMITTER_H_
