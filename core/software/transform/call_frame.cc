// SPDX-License-Identifier: Apache-2.0
//
// Caller and callee lay the frame out from the same declarations, each for
// itself. Parameters and results come first, since both sides know them; only
// the callee knows what comes behind.
#include "core/software/transform/call_frame.h"

#include <algorithm>

#include "core/software/analysis/control_flow.h"
#include "core/software/transform/lower_kernel.h"

namespace holdfast::software::transform {
namespace {

using analysis::LiveRegisters;
using analysis::LiveRegistersAt;
using lower::Kernel;
using lower::LowerKernel;
using lower::RegistersWritten;

using ptx::Function;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;
using ptx::Type;

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// A variable is passed by its bytes, a register by its value, predicates as
// 32-bit numbers.
Passed PassedAs(const Function& function, const Operand& operand) {
  if (operand.kind == Operand::Kind::kLocalVariable) {
    const ptx::Variable& variable = function.variables[operand.index];
    return {variable.bytes, variable.alignment};
  }
  const Type type = operand.kind == Operand::Kind::kRegister
                        ? function.registers[operand.index].type
                        : Type::kU64;
  const auto bytes =
      static_cast<uint64_t>(type == Type::kPred ? 4 : ptx::BytesOf(type));
  return {bytes, bytes};
}

void Add(Passed passed, FrameLayout* layout, std::vector<Passed>* list) {
  passed.offset = layout->Place(passed.bytes, passed.alignment);
  list->push_back(passed);
}

}  // namespace

uint64_t FrameLayout::Place(uint64_t bytes, uint64_t alignment) {
  const uint64_t offset = AlignUp(end_, std::max<uint64_t>(alignment, 1));
  end_ = offset + bytes;
  return offset;
}

uint64_t FrameLayout::size() const { return AlignUp(end_, 16); }

CallInterface InterfaceOf(const Function& function) {
  CallInterface result;
  for (const Operand& formal : function.parameters) {
    Add(PassedAs(function, formal), &result.layout, &result.parameters);
  }
  for (const Operand& formal : function.results) {
    Add(PassedAs(function, formal), &result.layout, &result.results);
  }
  return result;
}

CallInterface InterfaceOf(const Function& caller, const Instruction& call) {
  CallInterface result;
  for (size_t i = call.results + 1; i < call.operands.size(); ++i) {
    Add(PassedAs(caller, call.operands[i]), &result.layout, &result.parameters);
  }
  for (size_t i = 0; i < call.results; ++i) {
    Add(PassedAs(caller, call.operands[i]), &result.layout, &result.results);
  }
  return result;
}

bool IsOutlinedCall(const Instruction& instruction, const ptx::Module& module) {
  if (instruction.opcode() != Opcode::kCall) return false;
  const Operand& target = instruction.operands[instruction.results];
  return target.kind != Operand::Kind::kFunction ||
         module.functions[target.index].defined;
}

// The function is lowered for its blocks alone. Results of the call itself are
// not live across it, unless a guard may skip the call; registers that the
// function returns are live to its end.
std::map<size_t, std::vector<uint32_t>> LiveAcrossCalls(
    const ptx::Module& module, const Function& function) {
  const Kernel kernel = LowerKernel(module, function, {});
  const auto live_at_starts = LiveRegisters(kernel);
  std::map<size_t, std::vector<uint32_t>> result;
  for (size_t k = 0; k < kernel.blocks.size(); ++k) {
    for (uint32_t i = kernel.blocks[k].first; i < kernel.blocks[k].last; ++i) {
      const Instruction& call = function.body[i];
      if (!IsOutlinedCall(call, module)) continue;
      std::vector<bool> live =
          LiveRegistersAt(kernel, live_at_starts, k, i + 1);
      if (call.guard.kind == Operand::Kind::kNone) {
        for (const uint32_t r : RegistersWritten(call)) live[r] = false;
      }
      for (const Operand& formal : function.results) {
        // Read by the caller.
        if (formal.kind == Operand::Kind::kRegister) live[formal.index] = true;
      }
      for (uint32_t r = 0; r < live.size(); ++r) {
        if (live[r]) result[i].push_back(r);
      }
    }
  }
  return result;
}

}  // namespace holdfast::software::transform
