// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_GENERATOR_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_GENERATOR_H_

#include <cstdint>

#include "tests/conformance/random/program.h"

namespace holdfast::random_ptx {

// Returns the program of a seed, the same on every machine. The program is
// valid PTX with one kernel, and PTX defines all its results.
Program Generate(uint64_t seed);

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_GENERATOR_H_
