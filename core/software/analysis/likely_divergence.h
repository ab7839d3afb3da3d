// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_LIKELY_DIVERGENCE_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_LIKELY_DIVERGENCE_H_

#include "core/software/analysis/divergence.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// Returns true if lanes are likely to diverge, so that masked code is needed.
// This is the case at a branch that depends on loaded data or on floating-point
// numbers, such as the end of a loop with a different number of rounds in each
// lane. Branches that compare indices with bounds do not count, because few
// warps diverge there. `shapes` is the analysis of full code. The result is
// only a guess, which affects when masked code is compiled.
bool LikelyDivergent(const lower::Kernel& kernel,
                     const DivergenceAnalysis& shapes);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_LIKELY_DIVERGENCE_H_
