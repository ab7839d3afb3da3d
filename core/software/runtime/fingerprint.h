// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_FINGERPRINT_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_FINGERPRINT_H_

#include <string>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software {

// Returns one hash for each function, by index into module.functions. The hash
// of a kernel covers the text of the kernel and all text outside of kernels,
// but not the text of other kernels. So a change of one kernel does not
// invalidate the code of the others. This also helps if a compiler writes a
// kernel differently from run to run, as NVRTC sometimes does. `text` is the
// PTX of `module`.
std::vector<std::string> Fingerprints(const ptx::Module& module,
                                      const std::string& text);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_FINGERPRINT_H_
