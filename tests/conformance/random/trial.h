// SPDX-License-Identifier: Apache-2.0
//
// Runs a program on a driver, and compares the results with the interpreter's.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_TRIAL_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_TRIAL_H_

#include <functional>
#include <string>

#include "core/cuda/driver_api.h"
#include "tests/conformance/random/program.h"

namespace holdfast::random_ptx {

// Runs the program on a driver and sets `memory` to its results. Returns the
// text of an error; empty on success.
std::string RunOn(const cuda::DriverApi& api, const Program& program,
                  Memory* memory);

// Describes the bytes that differ, by thread. Returns "" if there are none.
std::string Difference(const Memory& expected, const Memory& found);

// Runs the program on both sides. Returns "" if the results agree; otherwise
// the difference, an error, or the reason why the program is not valid.
std::string Try(const cuda::DriverApi& api, const Program& program);

// Returns the program without the parts that it can lose and still fail.
// REQUIRES: `fails` returns true for `program`.
Program Shrink(Program program,
               const std::function<bool(const Program&)>& fails);

// Describes the first statement of the kernel for which the program, cut off
// after this statement, has other results; with the register and the threads
// that differ. `attempt` is Try() on some driver, and must fail for `program`.
std::string Explain(const Program& program,
                    const std::function<std::string(const Program&)>& attempt);

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_TRIAL_H_
