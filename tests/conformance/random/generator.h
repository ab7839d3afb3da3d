// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_GENERATOR_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_GENERATOR_H_

#include <cstdint>

#include "tests/conformance/random/program.h"

namespace holdfast::random_ptx {

// The program of a seed, the same on every machine: valid PTX with one kernel,
// whose every result is defined.
Program Generate(uint64_t seed);

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_GENERATOR_H_
