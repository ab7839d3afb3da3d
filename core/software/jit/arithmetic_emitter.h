// SPDX-License-Identifier: Apache-2.0
//
// Emits operations in which the result of a lane depends only on the operands
// of the same lane.
//
// The shape of the result comes from the shapes of the operands (ResultShape).
// If the result is varying, the operation is emitted on vectors, once for each
// chunk. Otherwise it is emitted once, on scalars. The folder arithmetic/ emits
// the operation itself.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_EMITTER_H_

#include <vector>

#include "core/software/jit/address_conversion.h"
#include "core/software/jit/carry_emitter.h"
#include "core/software/jit/operands.h"
#include "core/software/jit/pack_emitter.h"
#include "core/software/jit/pair_emitter.h"

namespace holdfast::software::jit {

// The interface to the test of full code that an affine index does not
// overflow.
class OverflowCheck {
 public:
  virtual ~OverflowCheck() = default;
  // Emits a test that the affine value `narrow`, which is base + lane * stride,
  // overflows in no lane when it is widened. If a lane overflows, the emitted
  // code leaves for masked code.
  virtual void CheckNoOverflow(const Step& step, const Value& narrow) = 0;
};

class ArithmeticEmitter {
 public:
  ArithmeticEmitter(const EmitContext& context, const Operands& operands)
      : c_(context),
        b_(context.b),
        v_(context.b),
        addresses_(context),
        carries_(context, operands),
        packs_(context, operands),
        pairs_(context, operands),
        operands_(operands) {}

  // Sets the check for affine values that are widened. The emitter of masked
  // code has no check, because masked code widens no affine value.
  void set_overflow_check(OverflowCheck* check) { overflow_ = check; }

  // Emits an instruction. REQUIRES: the instruction uses no memory, no control
  // flow and no values of other lanes.
  void Emit(const Step& step) const;

 private:
  void EmitOne(const Step& step) const;
  void CheckWidened(const Step& step, const std::vector<Value>& in) const;
  Value CombinePredicates(const ptx::Instruction& instruction,
                          absl::Span<const Value> in) const;
  llvm::Value* ComputePart(const ptx::Instruction& instruction, bool varying,
                           Values in) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const AddressConversion addresses_;
  const CarryEmitter carries_;
  const PackEmitter packs_;
  const PairEmitter pairs_;
  const Operands& operands_;
  OverflowCheck* overflow_ = nullptr;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_EMITTER_H_
