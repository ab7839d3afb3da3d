// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_VIDEO_CHECKER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_VIDEO_CHECKER_H_

#include <string>

#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// Checks, as ptxas does, the parts of registers that operands name, and their
// minus signs. Only operands of video instructions may have these. Returns the
// first mistake of an instruction with any opcode; "" if there is none.
// REQUIRES: the instruction has as many operands as its form says.
std::string CheckSelectors(const Instruction& instruction);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_VIDEO_CHECKER_H_
