// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_RUN_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_RUN_H_

#include "core/software/driver/graph/program.h"
#include "core/software/driver/graph/step.h"

namespace holdfast::software {

// Runs a program on the calling thread and, where that is worth a change of
// threads, on idle workers. Blocks until all steps are done. After a fault of
// the process no further step starts, and Run returns when the started steps
// have ended. REQUIRES: no other thread runs the program.
void Run(Program& program, LaunchEvents& events);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_GRAPH_RUN_H_
