// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_RUN_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_RUN_H_

#include "core/software/driver/graph/program.h"
#include "core/software/driver/graph/step.h"

namespace holdfast::software {

// Runs a program on the calling thread and, where that is worth a change of
// threads, on idle workers. Returns when all steps are done; after a fault of
// the process no further step starts. REQUIRES: no other run of the program.
void Run(Program& program, LaunchEvents& events);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_RUN_H_
