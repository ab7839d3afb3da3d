// SPDX-License-Identifier: Apache-2.0
//
// What a program must leave, by the machine's own compiler.
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

// A program with its inputs and its results, all that a device needs.
struct Case {
  uint64_t seed = 0;
  unsigned blocks = 1, width = 1, height = 1;
  std::string source;  // without the prelude
  std::vector<Parameter> parameters;
  std::vector<Bytes> inputs, expected;  // by parameter
};

// Makes the cases of some programs at once, with $CXX, clang++ or g++. Returns
// "", or why there are none. `without`: nodes that are left out.
std::string MakeCases(const std::vector<Program>& programs,
                      const std::set<int>& without, std::vector<Case>* cases);

// To and from a file.
void Write(const Case& one, std::ostream& to);
bool Read(std::istream& from, Case* one);

}  // namespace holdfast::random_c

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_REFERENCE_H_
