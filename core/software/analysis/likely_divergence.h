// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_LIKELY_DIVERGENCE_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_LIKELY_DIVERGENCE_H_

#include "core/software/analysis/divergence.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// Returns whether lanes are likely to diverge in a way that takes masked code:
// at a branch that depends on data or on floating-point numbers, such as the
// end of a loop that each lane runs as often as it has to. At bounds of indices
// and of values that are computed from indices alone, few warps diverge.
// `shapes` are those of full code.
bool LikelyDivergent(const lower::Kernel& kernel,
                     const DivergenceAnalysis& shapes);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_LIKELY_DIVERGENCE_H_
