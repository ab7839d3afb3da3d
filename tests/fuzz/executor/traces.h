// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_EXECUTOR_TRACES_H_
#define HOLDFAST_TESTS_FUZZ_EXECUTOR_TRACES_H_

#include <string>
#include <vector>

#include "holdfast/v1/commands.pb.h"

namespace holdfast::fuzz {

// One client's batches, from the first to the last.
using Trace = std::vector<v1::CommandBatch>;

// Returns the traces in tests/fuzz/executor/traces. A file has batches in
// protobuf's text format with an empty line between them. Ends the program if
// one cannot be read.
std::vector<Trace> ReadTraces();

// PTX of the kernels that the traces launch, with the same names and
// parameters. None of them touches memory: what a kernel may reach is for other
// tests, and here a fault would end every session of the process. Two
// work: `twice` sets x[i] = 2 * x[i] + 1 for one block, `set_condition` sets a
// condition of a graph.
extern const char kKernels[];

// The name of kKernels in the object store, as traces have it.
extern const char kKernelsSha256[];

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_EXECUTOR_TRACES_H_
