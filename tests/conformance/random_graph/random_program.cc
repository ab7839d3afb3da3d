// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/random_graph/random_program.h"

#include <cstdlib>
#include <random>

namespace holdfast::conformance {
namespace {

using Kind = RandomOperation::Kind;

bool Reads(const RandomOperation& operation, int array) {
  return (operation.kind != Kind::kFill && operation.from == array) ||
         (operation.kind == Kind::kAffine && operation.to == array);
}

// Returns true if the two have another result in another order.
bool Conflict(const RandomOperation& a, const RandomOperation& b) {
  return a.to == b.to || Reads(a, b.to) || Reads(b, a.to);
}

}  // namespace

RandomProgram RandomProgram::Generate(uint64_t seed, int arrays) {
  std::mt19937_64 random(seed);
  const auto below = [&random](int limit) {
    return static_cast<int>(random() % static_cast<uint64_t>(limit));
  };
  std::vector<RandomOperation> operations(1 + random() % 60);
  for (RandomOperation& operation : operations) {
    operation.kind = static_cast<Kind>(below(3));
    operation.to = below(arrays);
    operation.from = below(arrays);
    // A copy onto itself is no copy that CUDA promises anything about.
    if (operation.from == operation.to) {
      operation.from = (operation.to + 1) % arrays;
    }
    operation.value = static_cast<unsigned>(below(100));
    operation.extra_edges = random() & random() & random();
  }
  return {std::move(operations), arrays};
}

std::vector<size_t> RandomProgram::DependenciesOf(size_t index) const {
  const RandomOperation& operation = operations_[index];
  std::vector<size_t> dependencies;
  for (size_t i = 0; i < index; ++i) {
    const size_t back = index - i - 1;
    const bool extra = back < 64 && (operation.extra_edges >> back & 1) != 0;
    if (extra || Conflict(operation, operations_[i])) dependencies.push_back(i);
  }
  return dependencies;
}

std::vector<unsigned> RandomProgram::ResultOf(int runs) const {
  std::vector<unsigned> numbers(static_cast<size_t>(arrays_));
  for (int run = 0; run < runs; ++run) {
    for (const RandomOperation& operation : operations_) {
      unsigned& to = numbers[static_cast<size_t>(operation.to)];
      const unsigned from = numbers[static_cast<size_t>(operation.from)];
      switch (operation.kind) {
        case Kind::kFill:
          to = operation.value;
          break;
        case Kind::kCopy:
          to = from;
          break;
        case Kind::kAffine:
          to = to * operation.value + from;
          break;
      }
    }
  }
  return numbers;
}

RandomProgram RandomProgram::Without(size_t index) const {
  RandomProgram fewer = *this;
  fewer.operations_.erase(fewer.operations_.begin() +
                          static_cast<std::ptrdiff_t>(index));
  return fewer;
}

std::string RandomProgram::ToString() const {
  std::string text;
  for (size_t i = 0; i < operations_.size(); ++i) {
    const RandomOperation& operation = operations_[i];
    const std::string to = std::to_string(operation.to),
                      from = std::to_string(operation.from),
                      value = std::to_string(operation.value);
    text += "\n  " + std::to_string(i) + ": ";
    switch (operation.kind) {
      case Kind::kFill:
        text += "fill array " + to + " with " + value;
        break;
      case Kind::kCopy:
        text += "copy array " + from + " to " + to;
        break;
      case Kind::kAffine:
        text += "array " + to + " = " + to + " * " + value + " + " + from;
        break;
    }
    const std::vector<size_t> after = DependenciesOf(i);
    if (!after.empty()) text += ", after";
    for (const size_t earlier : after) text += " " + std::to_string(earlier);
  }
  return text;
}

RandomProgram Shrink(RandomProgram program, const RandomProgramCheck& check) {
  for (size_t i = program.operations().size(); i-- > 0;) {
    RandomProgram fewer = program.Without(i);
    if (!check(fewer)) program = std::move(fewer);
  }
  return program;
}

std::string FindFailure(int programs, int arrays,
                        const RandomProgramCheck& check) {
  const char* given = std::getenv("HOLDFAST_GRAPH_SEED");
  const uint64_t first =
      given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  for (uint64_t seed = first; seed < first + static_cast<uint64_t>(programs);
       ++seed) {
    const RandomProgram program = RandomProgram::Generate(seed, arrays);
    if (check(program)) continue;
    return "HOLDFAST_GRAPH_SEED=" + std::to_string(seed) +
           Shrink(program, check).ToString();
  }
  return "";
}

}  // namespace holdfast::conformance
