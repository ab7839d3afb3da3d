// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target. Each execution has a seed of its own, derived from the
// run's seed and the execution's number, and is independent of earlier
// executions, so each execution can be repeated alone:
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

  // Makes one input, runs it and checks the results. Every choice comes from
  // `random`. An error is a finding; it names the condition that did not hold.
  virtual absl::Status Execute(Random& random) = 0;

  // Returns true if the last execution, without a finding, has left the process
  // unfit for another execution. The next execution runs in a new process.
  virtual bool Spent() const { return false; }

  // Called after the last execution, for checks of the whole run.
  virtual absl::Status Finish() { return absl::OkStatus(); }

  // Returns one line about the run, such as how many inputs were accepted. It
  // shows a fuzzer whose inputs are all refused early, which tests nothing.
  virtual std::string Summary() const { return ""; }
};

using MakeTarget = std::function<std::unique_ptr<FuzzTarget>()>;

// Runs executions in a child process. The death of the child is a finding, and
// so is an execution of more than two minutes. Prints executions, findings and
// the seed. Returns the exit code, which is 0 if there was no finding.
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
