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

// One operation on a few arrays of unsigned numbers. All elements of an array
// are equal at any time, so one number describes the array.
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
  uint64_t extra_edges = 0;  // bit i: depends on operation index - i - 1
};

// Random operations, their dependencies as nodes of a graph, and their result
// when they run one after the other.
class RandomProgram {
 public:
  // Returns the program of a seed. It is the same on every machine.
  static RandomProgram Generate(uint64_t seed, int arrays);
  RandomProgram(std::vector<RandomOperation> operations, int arrays)
      : operations_(std::move(operations)), arrays_(arrays) {}

  const std::vector<RandomOperation>& operations() const { return operations_; }

  // Returns the earlier operations on which an operation depends: those that
  // conflict with it, and those of its extra_edges.
  std::vector<size_t> DependenciesOf(size_t index) const;
  // Returns the arrays' numbers after `runs` runs. They are 0 before the first.
  std::vector<unsigned> ResultOf(int runs) const;

  // Returns the program without one operation.
  RandomProgram Without(size_t index) const;
  // Returns a line for each operation.
  std::string ToString() const;

 private:
  std::vector<RandomOperation> operations_;
  int arrays_;
};

// Returns true if the program's graph has the result of its operations when
// they run one after the other.
using RandomProgramCheck = std::function<bool(const RandomProgram&)>;

// Removes operations as long as the rest of the program still fails.
// REQUIRES: check(program) is false.
RandomProgram Shrink(RandomProgram program, const RandomProgramCheck& check);

// Checks so many programs. Returns an empty text, or the first failure: its
// seed and the shrunk program. $HOLDFAST_GRAPH_SEED is the first seed; default:
// 1.
std::string FindFailure(int programs, int arrays,
                        const RandomProgramCheck& check);

}  // namespace holdfast::conformance

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_GRAPH_RANDOM_PROGRAM_H_
