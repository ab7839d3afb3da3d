// SPDX-License-Identifier: Apache-2.0
//
// One program on a driver, beside the interpreter.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_TRIAL_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_TRIAL_H_

#include <functional>
#include <string>

#include "core/cuda/driver_api.h"
#include "tests/conformance/random/program.h"

namespace holdfast::random_ptx {

// A driver's results; an error's text, or "".
std::string RunOn(const cuda::DriverApi& api, const Program& program,
                  Memory* memory);

// "", or where the two differ, in words: which thread, which register or byte.
std::string Difference(const Memory& expected, const Memory& found);

// Runs it on both sides: "" if they agree.
std::string Try(const cuda::DriverApi& api, const Program& program);

// The program without what `fails` does not need.
Program Shrink(Program program,
               const std::function<bool(const Program&)>& fails);

// In words: the first statement of the kernel with which the program, cut off
// behind it, leaves something else, the register in which that shows, and the
// threads. `attempt` is Try() on some driver, which must fail for `program`.
std::string Explain(const Program& program,
                    const std::function<std::string(const Program&)>& attempt);

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_TRIAL_H_
