// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_ANALYSIS_LIKELY_DIVERGENCE_H_
#define HOLDFAST_CORE_SOFTWARE_ANALYSIS_LIKELY_DIVERGENCE_H_

#include "core/software/analysis/divergence.h"
#include "core/software/lower/kernel.h"

namespace holdfast::software::analysis {

// Returns true if lanes are likely to diverge so that masked code is needed: at
// a branch that depends on data or floating-point numbers, such as the end of a
// loop with a different count in each lane. Few warps diverge at bounds of
// indices, or of values that are computed only from indices. `shapes` are the
// shapes of full code.
bool LikelyDivergent(const lower::Kernel& kernel,
                     const DivergenceAnalysis& shapes);

}  // namespace holdfast::software::analysis

#endif  // HOLDFAST_CORE_SOFTWARE_ANALYSIS_LIKELY_DIVERGENCE_H_
