// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_FINGERPRINT_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_FINGERPRINT_H_

#include <string>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software {

// Returns one hash per kernel, by index into module.functions. A hash covers
// the kernel's own text and every declaration outside kernels, but no other
// kernel. So editing one kernel does not invalidate the code of the others; nor
// does a compiler that writes one of them differently from run to run, as NVRTC
// does now and then. `text` is the PTX that `module` was parsed from.
std::vector<std::string> Fingerprints(const ptx::Module& module,
                                      const std::string& text);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_FINGERPRINT_H_
