// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_GRAPH_RANDOM_PROGRAM_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_GRAPH_RANDOM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::conformance {

// Work on a few arrays of unsigned numbers. The elements of an array are equal
// at any time, so that one number stands for it.
struct RandomOperation {
  enum class Kind {
    kFill,    // to[i] = value
    kCopy,    // to[i] = from[i]
    kAffine,  // to[i] = to[i] * value + from[i], by a kernel
  };
  Kind kind = Kind::kFill;
  int to = 0;
  int from = 0;  // never `to`
  unsigned value = 0;
  uint64_t extra_edges = 0;  // bit i: to the operation i + 1 before, if any
};

// Random operations with the dependencies that they need as nodes of a graph,
// and their result when they run in a row.
class RandomProgram {
 public:
  // The same for the same seed, on every machine.
  static RandomProgram Generate(uint64_t seed, int arrays);
  RandomProgram(std::vector<RandomOperation> operations, int arrays)
      : operations_(std::move(operations)), arrays_(arrays) {}

  const std::vector<RandomOperation>& operations() const { return operations_; }

  // Returns the earlier operations that this one comes after: those whose order
  // makes a difference, and a few more.
  std::vector<size_t> DependenciesOf(size_t index) const;
  // Returns the arrays' numbers, which begin as 0, after so many runs.
  std::vector<unsigned> ResultOf(int runs) const;

  // Returns the program without one operation.
  RandomProgram Without(size_t index) const;
  // Returns a line for each operation.
  std::string ToString() const;

 private:
  std::vector<RandomOperation> operations_;
  int arrays_;
};

// Returns whether a program's graph has the result of its operations in a row.
using RandomProgramCheck = std::function<bool(const RandomProgram&)>;

// Leaves operations out as long as the rest still fails.
// REQUIRES: check(program) is false.
RandomProgram Shrink(RandomProgram program, const RandomProgramCheck& check);

// Checks so many programs. Returns an empty text, or the first failure: its
// seed and the shrunk program. $HOLDFAST_GRAPH_SEED begins elsewhere than at 1.
std::string FindFailure(int programs, int arrays,
                        const RandomProgramCheck& check);

}  // namespace holdfast::conformance

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_GRAPH_RANDOM_PROGRAM_H_
