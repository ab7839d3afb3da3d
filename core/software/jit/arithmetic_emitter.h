// SPDX-License-Identifier: Apache-2.0
//
// Emits operations in which each lane's result depends on that lane's operands
// only.
//
// The shape of the result comes from the shapes of the operands (ResultShape).
// If it is not varying, the operation is one scalar instruction, on the bases;
// else one a chunk, on vectors. The folder arithmetic/ emits the operation
// itself.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_EMITTER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ARITHMETIC_EMITTER_H_

#include <vector>

#include "core/software/jit/address_conversion.h"
#include "core/software/jit/carry_emitter.h"
#include "core/software/jit/operands.h"
#include "core/software/jit/pack_emitter.h"
#include "core/software/jit/pair_emitter.h"

namespace holdfast::software::jit {

// Full code's test that an affine index does not overflow.
class OverflowCheck {
 public:
  virtual ~OverflowCheck() = default;
  // `narrow` is about to be widened as base + lane * stride. Emits a test that
  // no lane's value overflows; if one does, code goes elsewhere.
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

  // Masked code needs no check, because no affine value is widened there.
  void set_overflow_check(OverflowCheck* check) { overflow_ = check; }

  // Emits an instruction. REQUIRES: it uses no memory, control flow or values
  // of other lanes.
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
