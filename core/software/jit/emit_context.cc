// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/emit_context.h"

#include "absl/strings/str_cat.h"

namespace holdfast::software::jit {

void EmitContext::Fail(const ptx::Instruction& instruction,
                       std::string reason) const {
  if (error) return;
  error = absl::StrCat(instruction.location.line, ":",
                       instruction.location.column, ": ", reason);
}

}  // namespace holdfast::software::jit
