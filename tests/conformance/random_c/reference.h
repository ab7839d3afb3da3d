// SPDX-License-Identifier: Apache-2.0
//
// Computes the expected results of random programs, by compiling them for the
// CPU and running them in this process.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_REFERENCE_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_REFERENCE_H_

#include <cstdint>
#include <istream>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/random_c/program.h"

namespace holdfast::random_c {

using Bytes = std::vector<uint8_t>;

// A program with its inputs and its expected results.
struct Case {
  uint64_t seed = 0;
  unsigned blocks = 1, width = 1, height = 1;
  std::string source;  // without the prelude
  std::vector<Parameter> parameters;
  std::vector<Bytes> inputs, expected;  // by parameter
};

// Makes the cases of several programs with one run of the compiler: $CXX, else
// clang++ or g++. Returns "" or an error message. `without`: the nodes that are
// left out of the programs.
std::string MakeCases(const std::vector<Program>& programs,
                      const std::set<int>& without, std::vector<Case>* cases);

// Write a case to a file, and read it.
void Write(const Case& one, std::ostream& to);
bool Read(std::istream& from, Case* one);

}  // namespace holdfast::random_c

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_REFERENCE_H_
