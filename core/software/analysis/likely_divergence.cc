// SPDX-License-Identifier: Apache-2.0
//
// Kernels differ in how their branches part lanes. A bound at the end of a
// grid, i < n, compares an affine index with a number that only the launch
// knows, and parts one warp in thousands: no reason to make masked code. A
// branch on loaded data, or one that singles out threads, as threadIdx.x == 0
// does, parts lanes all the time.
#include "core/software/analysis/likely_divergence.h"

#include <vector>

#include "core/software/analysis/control_flow.h"

namespace holdfast::software::analysis {

using lower::Block;
using lower::Kernel;
using lower::RegistersRead;
using lower::RegistersWritten;

using ptx::Instruction;
using ptx::Operand;

namespace {

// A thread's number, or what grows with it, beside a number: threadIdx.x == 0.
bool ComparesThreads(const Instruction& instruction,
                     const DivergenceAnalysis& shapes) {
  if (instruction.opcode() != ptx::Opcode::kSetp) return false;
  const auto& operands = instruction.operands;
  for (const size_t at : {1, 2}) {
    if (operands[3 - at].kind != Operand::Kind::kInteger) continue;
    if (operands[at].kind == Operand::Kind::kSpecial) return true;
    if (operands[at].kind != Operand::Kind::kRegister) continue;
    const LaneShape& shape = shapes.registers[operands[at].index];
    if (!shape.varying && shape.stride != 0) return true;
  }
  return false;
}

// By register: a predicate that compares what lanes have loaded, or floating-
// point numbers, or threads with a number, or that comes from such.
// A fixed point, since predicates are combined of predicates.
std::vector<bool> Decisions(const Kernel& kernel,
                            const DivergenceAnalysis& shapes) {
  const auto& registers = kernel.function->registers;
  const std::vector<bool> data = RegistersFromData(kernel);
  std::vector<bool> decides(registers.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& instruction : kernel.function->body) {
      const bool compares_floats = ptx::IsFloat(instruction.type());
      bool found = ComparesThreads(instruction, shapes);
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

// A guess, and harmless: if it is wrong, masked code is made too early, or when
// a warp waits for it.
bool LikelyDivergent(const Kernel& kernel, const DivergenceAnalysis& shapes) {
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

}  // namespace holdfast::software::analysis
