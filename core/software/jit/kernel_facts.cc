// SPDX-License-Identifier: Apache-2.0
//
// Both modes are analysed, whichever part is wanted: a register is handed from
// one function to the other, so each needs to know both shapes.
#include "core/software/jit/kernel_facts.h"

#include "core/software/analysis/control_flow.h"
#include "core/software/analysis/early_stores.h"

namespace holdfast::software::jit {

using analysis::Mode;
using lower::ConvergencePoint;

KernelFacts::KernelFacts(const lower::Kernel& kernel,
                         const analysis::BlockShape& block, int chunk_lanes)
    : live_registers(analysis::LiveRegisters(kernel)),
      loops(analysis::Loops(kernel)),
      own_loops(analysis::Loops(kernel, /*past_barriers=*/false)),
      crosses(kernel.function->registers.size(), false),
      ever_read(kernel.function->registers.size(), false),
      early_stores(analysis::EarlyStores(kernel)) {
  for (const Mode mode : {Mode::kFull, Mode::kMasked}) {
    shapes[static_cast<int>(mode)] =
        analysis::AnalyzeDivergence(kernel, block, mode, chunk_lanes);
  }
  for (const ptx::Instruction& instruction : kernel.function->body) {
    for (uint32_t r : lower::RegistersRead(instruction)) ever_read[r] = true;
  }
  for (size_t k = 0; k < kernel.blocks.size(); ++k) {
    for (size_t r = 0; r < crosses.size(); ++r) {
      if (live_registers[k][r]) crosses[r] = true;
    }
    const ConvergencePoint point = ConvergencePointAt(kernel, k);
    lanes_wait = lanes_wait || point != ConvergencePoint::kNone;
    warps_wait = warps_wait || point == ConvergencePoint::kBlock;
  }
}

ConvergencePoint ConvergencePointAt(const lower::Kernel& kernel, size_t k) {
  return lower::ConvergencePointOf(
      kernel.function->body[kernel.blocks[k].first]);
}

}  // namespace holdfast::software::jit
