// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_FINGERPRINT_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_FINGERPRINT_H_

#include <string>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software {

// By index into module.functions, of kernels: equal only if the kernel's own
// text is equal, and all that is no kernel's. So one whose neighbours change
// keeps its code: those that are being written, and those that a compiler
// writes differently from run to run, as NVRTC does now and then. `text` is
// what `module` was parsed from.
std::vector<std::string> Fingerprints(const ptx::Module& module,
                                      const std::string& text);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_FINGERPRINT_H_
