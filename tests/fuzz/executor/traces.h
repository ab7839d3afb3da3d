// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_EXECUTOR_TRACES_H_
#define HOLDFAST_TESTS_FUZZ_EXECUTOR_TRACES_H_

#include <string>
#include <vector>

#include "holdfast/v1/commands.pb.h"

namespace holdfast::fuzz {

// One client's batches, from the first to the last.
using Trace = std::vector<v1::CommandBatch>;

// Returns the traces in tests/fuzz/executor/traces, ordered by file name. A
// file has batches in protobuf's text format with an empty line between them.
// Ends the program if there is no trace, or a batch cannot be parsed.
std::vector<Trace> ReadTraces();

// PTX of the kernels that the traces launch, with the same names and
// parameters. All but two kernels do nothing, because a fault would end every
// session of the process. `twice` sets x[i] = 2 * x[i] + 1 for one block.
// `set_condition` sets a condition of a graph.
extern const char kKernels[];

// The hash by which traces name kKernels: 32 bytes of text, not a real hash.
extern const char kKernelsSha256[];

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_EXECUTOR_TRACES_H_
