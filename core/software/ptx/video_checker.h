// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_PTX_VIDEO_CHECKER_H_
#define HOLDFAST_CORE_SOFTWARE_PTX_VIDEO_CHECKER_H_

#include <string>

#include "core/software/ptx/ast.h"

namespace holdfast::software::ptx {

// Checks, as ptxas does, what only operands of video instructions may have: the
// parts of registers that they name, and minus signs. Returns the first mistake
// of an instruction of any opcode; "" if there is none.
// REQUIRES: the operands are as many as the form says.
std::string CheckSelectors(const Instruction& instruction);

}  // namespace holdfast::software::ptx

#endif  // HOLDFAST_CORE_SOFTWARE_PTX_VIDEO_CHECKER_H_
