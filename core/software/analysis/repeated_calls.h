// SPDX-License-Identifier: Apache-2.0
//
// Functions whose copies would make a kernel too large. If each of n functions
// calls the next one twice, the last one is copied 2^n times.
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_REPEATED_CALLS_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_REPEATED_CALLS_H_

#include <cstddef>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software::analysis {

struct InliningLimits {
  // The most instructions of the kernel and all outlined functions together; 16
  // bytes of local variables count as one instruction. A kernel of this size
  // compiles in seconds.
  double size = 1 << 13;
  // Beyond this size, functions are outlined even if each saves little.
  double largest = 1 << 17;
  // The most functions of a chain in which each is copied into its caller.
  size_t depth = 200;
};

// Returns true, by index, for the functions to outline in addition to
// `outlined`, so that the kernel stays within the limits as far as outlining
// can achieve it.
// REQUIRES: `outlined` contains every recursive function that `kernel` reaches.
std::vector<bool> RepeatedFunctions(const ptx::Module& module,
                                    const ptx::Function& kernel,
                                    const std::vector<bool>& outlined,
                                    const InliningLimits& limits = {});

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_REPEATED_CALLS_H_
