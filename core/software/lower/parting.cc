// SPDX-License-Identifier: Apache-2.0
#include "core/software/lower/parting.h"

#include <vector>

#include "core/software/lower/control_flow.h"

namespace holdfast::software::lower {

using ptx::Instruction;
using ptx::Operand;

namespace {

// By register: a predicate that compares what lanes have loaded, or floating-
// point numbers, or that comes from such.
std::vector<bool> Decisions(const Kernel& kernel, const Shapes& shapes) {
  const auto& registers = kernel.function->registers;
  const std::vector<bool> data = RegistersFromData(kernel);
  std::vector<bool> decides(registers.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& instruction : kernel.function->body) {
      const bool compares_floats = ptx::IsFloat(instruction.type());
      bool found = false;
      for (uint32_t r : RegistersRead(instruction)) {
        found = found || (registers[r].type == ptx::Type::kPred
                              ? decides[r]
                              : shapes.registers[r].varying &&
                                    (data[r] || compares_floats));
      }
      if (!found) continue;
      for (uint32_t r : RegistersWritten(instruction)) {
        if (registers[r].type != ptx::Type::kPred || decides[r]) continue;
        decides[r] = changed = true;
      }
    }
  }
  return decides;
}

}  // namespace

bool WillPart(const Kernel& kernel, const Shapes& shapes) {
  const std::vector<bool> decides = Decisions(kernel, shapes);
  for (size_t k = 0; k < kernel.blocks.size(); ++k) {
    if (shapes.lane_loops[k] >= 0) return true;
    const Block& block = kernel.blocks[k];
    const Operand& guard = kernel.function->body[block.last - 1].guard;
    if (block.branches && shapes.regions[k].empty() &&
        guard.kind == Operand::Kind::kRegister &&
        shapes.registers[guard.index].varying && decides[guard.index]) {
      return true;
    }
  }
  return false;
}

}  // namespace holdfast::software::lower
