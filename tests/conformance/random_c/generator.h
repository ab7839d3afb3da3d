// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_GENERATOR_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_GENERATOR_H_

#include <cstdint>

#include "tests/conformance/random_c/program.h"

namespace holdfast::random_c {

// The program of a seed, the same on every machine; all its results are
// defined.
Program Generate(uint64_t seed);

}  // namespace holdfast::random_c

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_GENERATOR_H_
