// SPDX-License-Identifier: Apache-2.0
//
// Emits bulk copies between global and shared memory (cp.async.bulk and
// cp.reduce.async.bulk). A GPU copies asynchronously, and reports the end of a
// copy to a barrier or to a group of copies. The emitted code copies
// synchronously, so that a copy is done before an instruction waits for it.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_BULK_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_BULK_EMITTER_H_

#include "core/software/jit/addresses.h"
#include "core/software/jit/async_emitter.h"

namespace holdfast::software::jit {

class BulkEmitter {
 public:
  BulkEmitter(const EmitContext& context, const Operands& operands,
              const Addresses& addresses, const AsyncEmitter& async)
      : b_(context.b),
        v_(context.b),
        runtime_(context),
        operands_(operands),
        addresses_(addresses),
        async_(async) {}

  // Emits a copy with the operands [to], [from], bytes[, [barrier]][, policy].
  // Emits nothing for a prefetch, and only a fence for the compiler for a wait
  // for groups.
  void Emit(const Step& step) const;

 private:
  Value CheckedAddress(const Step& step, const ptx::Operand& operand,
                       ptx::Space space) const;

  Builder& b_;
  const LaneValues v_;
  const RuntimeCalls runtime_;
  const Operands& operands_;
  const Addresses& addresses_;
  const AsyncEmitter& async_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_BULK_EMITTER_H_
