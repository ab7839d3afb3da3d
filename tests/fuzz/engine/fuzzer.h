// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target. Each execution has a seed of its own, derived from the
// run's seed and its number, and shares nothing with the executions before it,
// so any of them can be run again by itself:
//
//   commands_fuzz_test --seed=1 --seconds=3600
//   commands_fuzz_test --seed=1 --first=48213 --executions=1 --fork=0
//
//   int main(int argc, char** argv) {
//     return holdfast::fuzz::FuzzMain(
//         argc, argv, [] { return std::make_unique<MyTarget>(); });
//   }
#ifndef HOLDFAST_TESTS_FUZZ_ENGINE_FUZZER_H_
#define HOLDFAST_TESTS_FUZZ_ENGINE_FUZZER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "tests/fuzz/engine/random.h"

namespace holdfast::fuzz {

class FuzzTarget {
 public:
  virtual ~FuzzTarget() = default;

  // Makes one input, runs it and checks what must hold afterwards. Every choice
  // comes from `random`. An error is a finding and says what did not hold.
  virtual absl::Status Execute(Random& random) = 0;

  // Returns true if the last execution, although nothing was wrong, has left
  // the process unfit for another one. The next runs in a new process.
  virtual bool Spent() const { return false; }

  // Called after the last execution: checks what can only be told then.
  virtual absl::Status Finish() { return absl::OkStatus(); }

  // Returns one line about the run for people: how many inputs were accepted,
  // what a neighbour verified. A fuzzer of which everything is refused at the
  // door tests nothing.
  virtual std::string Summary() const { return ""; }
};

using MakeTarget = std::function<std::unique_ptr<FuzzTarget>()>;

// Runs executions in a child process, which may die: that is a finding, too, as
// is an execution of more than two minutes. Prints executions, findings and the
// seed; returns the exit code, 0 if there was no finding.
//
//   --executions=N  default: 1000, or no limit with --seconds
//   --seconds=N     stop after this time
//   --seed=N        of the run; default: 1
//   --first=N       number of the first execution; default: 0
//   --fork=0        run in this process, for a debugger
//
// REQUIRES: the process has one thread.
int FuzzMain(int argc, char** argv, const MakeTarget& make);

// Returns a finding if `condition` is false.
#define HOLDFAST_FUZZ_EXPECT(condition, ...)                         \
  do {                                                               \
    if (!(condition)) {                                              \
      return absl::FailedPreconditionError(                          \
          absl::StrCat(#condition " does not hold: ", __VA_ARGS__)); \
    }                                                                \
  } while (false)

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_ENGINE_FUZZER_H_
