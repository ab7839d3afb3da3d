// SPDX-License-Identifier: Apache-2.0
//
// Interprets a program as PTX describes it: thread by thread, one instruction
// after the other. Uses no vectors, no masks and no code of the software
// driver.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_INTERPRETER_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_INTERPRETER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "tests/conformance/random/program.h"

namespace holdfast::random_ptx {

struct Interpretation {
  Memory memory;
  // The reason why the program is not valid: threads wait for each other for
  // ever, or it takes more steps than any valid program. Empty: it is valid.
  std::string invalid;
  // The first instruction whose result PTX does not define for its inputs.
  struct Place {
    size_t function, instruction;
  };
  std::optional<Place> open;
};

// Runs the program until it ends, is found invalid or has an open result.
Interpretation Interpret(const Program& program);

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_INTERPRETER_H_
