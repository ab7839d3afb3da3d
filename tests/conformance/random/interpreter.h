// SPDX-License-Identifier: Apache-2.0
//
// Runs a program thread by thread, one instruction after the other, as PTX
// describes it: no vectors, no masks, nothing of the software driver.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_INTERPRETER_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_INTERPRETER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "tests/conformance/random/program.h"

namespace holdfast::random_ptx {

struct Interpretation {
  Memory memory;
  // "" or why the program is none: threads that wait for each other for ever,
  // or more steps than any program takes.
  std::string invalid;
  // An instruction whose result PTX leaves open for what it was given.
  struct Place {
    size_t function, instruction;
  };
  std::optional<Place> open;
};

Interpretation Interpret(const Program& program);

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_INTERPRETER_H_
