// SPDX-License-Identifier: Apache-2.0
//
// Finds functions whose inlined copies would make a kernel too large. If each
// of n functions calls the next function twice, the last function is copied 2^n
// times. These functions are outlined instead: they are compiled once and
// called.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_REPEATED_CALLS_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_REPEATED_CALLS_H_

#include <cstddef>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software::analysis {

struct InliningLimits {
  // The maximum of the instructions of the kernel and all outlined functions
  // together; 16 bytes of local variables count as one instruction. A kernel of
  // this size compiles in seconds.
  double size = 1 << 13;
  // Above this size, functions are outlined even if each of them saves little.
  double largest = 1 << 17;
  // The maximum of the length of a chain of functions of which each is inlined
  // into its caller.
  size_t depth = 200;
};

// Returns true, by index of the function, for the functions to outline in
// addition to `outlined`, so that the kernel stays within the limits. The
// kernel may still exceed them if outlining cannot make it smaller. REQUIRES:
// `outlined` contains every recursive function that `kernel` reaches.
std::vector<bool> RepeatedFunctions(const ptx::Module& module,
                                    const ptx::Function& kernel,
                                    const std::vector<bool>& outlined,
                                    const InliningLimits& limits = {});

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_REPEATED_CALLS_H_
