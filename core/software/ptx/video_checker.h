// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_VIDEO_CHECKER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_VIDEO_CHECKER_H_

#include <string>

#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// Checks the selectors and the minus signs of operands, as ptxas does. Only
// operands of video instructions may have them. The instruction may have any
// opcode. Returns the first mistake; empty if there is none. REQUIRES: the
// instruction has the number of operands of its form.
std::string CheckSelectors(const Instruction& instruction);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_VIDEO_CHECKER_H_
