// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_GENERATOR_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_GENERATOR_H_

#include <cstdint>

#include "tests/conformance/random_c/program.h"

namespace holdfast::random_c {

// Returns the program of a seed. It is the same on every machine, and C++
// defines all of its results.
Program Generate(uint64_t seed);

}  // namespace holdfast::random_c

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_GENERATOR_H_
