// SPDX-License-Identifier: Apache-2.0
//
// Emits reads of special registers: %tid, %ctaid, %laneid, %clock and the other
// registers that PTX defines.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_SPECIAL_REGISTERS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_SPECIAL_REGISTERS_H_

#include "core/software/jit/emit_context.h"
#include "core/software/jit/lane_values.h"
#include "core/software/jit/runtime_calls.h"

namespace holdfast::software::jit {

class SpecialRegisters {
 public:
  explicit SpecialRegisters(const EmitContext& context)
      : c_(context), b_(context.b), v_(context.b), runtime_(context) {}

  // Emits a read of the register, and returns the value of all lanes in the
  // shape of analysis::ShapeOfSpecial.
  Value Read(ptx::Special special) const;

 private:
  analysis::LaneShape ShapeOf(ptx::Special special) const;
  Value ReadThreadIndex(ptx::Special special) const;
  Value ReadLanemask(ptx::Special special) const;
  Value ReadClock(ptx::Special special) const;
  llvm::Value* ReadCluster(ptx::Special special) const;
  Value ReadLaunch(ptx::Special special) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const RuntimeCalls runtime_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_SPECIAL_REGISTERS_H_
