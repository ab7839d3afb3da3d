// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_CONDITIONAL_STEP_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_CONDITIONAL_STEP_H_

#include <memory>
#include <vector>

#include "core/software/driver/graph/node.h"
#include "core/software/driver/graph/step.h"

namespace holdfast::software {

class Program;

// Returns the step (step.h) that runs a conditional node. `bodies` are the
// programs (program.h) of its body graphs, in CUDA's order. No other step may
// run these programs.
std::shared_ptr<const Step> MakeConditionalStep(
    const ConditionalWork& node, std::vector<std::shared_ptr<Program>> bodies);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_CONDITIONAL_STEP_H_
