// SPDX-License-Identifier: Apache-2.0
//
// Emits reads and writes of the operands of instructions: registers, constants,
// special registers, addresses of variables.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_OPERANDS_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_OPERANDS_H_

#include <string>

#include "core/software/jit/active_lanes.h"
#include "core/software/jit/registers.h"
#include "core/software/jit/special_registers.h"

namespace holdfast::software::jit {

// Returns the symbol that stands for the address of Module::variables[index].
inline std::string VariableSymbol(uint32_t index) {
  return "holdfast_variable_" + std::to_string(index);
}

class Operands {
 public:
  Operands(const EmitContext& context, Registers& registers)
      : c_(context),
        b_(context.b),
        v_(context.b),
        arrays_(context.b),
        specials_(context),
        registers_(registers) {}

  // Returns the operand's bits as `type`. While a lane runs alone, returns the
  // value of that lane.
  Value Read(const ActiveLanes& lanes, const ptx::Operand& operand,
             ptx::Type type) const;
  // Emits a write of a result for the lanes that run. Other lanes keep their
  // values, unless the analysis has found that no lane reads them later
  // (DivergenceAnalysis::overwrite). This saves a load and a blend for most
  // temporaries. A write to the sink `_` emits nothing.
  void Write(const ActiveLanes& lanes, const ptx::Operand& operand,
             const Value& value) const;

  // Returns the address of a variable, i64. The address in global and constant
  // memory is a symbol, because cached objects outlive the process.
  llvm::Value* VariableAddress(const ptx::Operand& operand) const;
  // Return the address of a variable for each lane, or for the lane that runs
  // alone. Each lane has its own copy of a local variable. ReadAddress returns
  // the number that the kernel reads. It differs from LaneAddress for a shared
  // variable of a kernel that uses clusters: the number includes the block.
  Value ReadAddress(const ActiveLanes& lanes,
                    const ptx::Operand& operand) const;
  Value LaneAddress(const ActiveLanes& lanes,
                    const ptx::Operand& operand) const;
  // Returns the declared type if the operand is a register, otherwise u64.
  ptx::Type TypeOf(const ptx::Operand& operand) const;

 private:
  Value ReadConstant(const ptx::Operand& operand, ptx::Type type) const;
  Value OfLane(const ActiveLanes& lanes, const Value& value) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
  const LaneArrays arrays_;
  const SpecialRegisters specials_;
  Registers& registers_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_OPERANDS_H_
