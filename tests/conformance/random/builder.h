// SPDX-License-Identifier: Apache-2.0
//
// Writes one function of a random program: its registers, and instructions at
// the end of what is there.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_BUILDER_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_BUILDER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/random/program.h"

namespace holdfast::random_ptx {

// The same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  uint64_t Below(uint64_t limit) { return Next() % limit; }
  bool Chance(unsigned percent) { return Below(100) < percent; }
  template <typename List>
  auto Pick(const List& list) -> const typename List::value_type& {
    return list[Below(list.size())];
  }
  // Often small, often an edge.
  uint64_t Number();

 private:
  uint64_t state_;
};

// The classes of registers. Floating point has classes of its own, since the
// bits of a NaN are unspecified: they reach integers through Canonical only.
enum class Class {
  kPred,
  k16,
  k32,
  k64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kF16x2,
  kBF16x2,
  kNone,
};
int BitsOf(Class of);
bool IsFloat(Class of);

// Who comes where code is being written.
struct Place {
  size_t mask = 0;       // register: the lanes of a warp, if `gathered`
  bool gathered = true;  // else lanes come one by one
  bool uniform = true;   // all threads of a block, or none
  int depth = 0;
};

class Builder {
 public:
  using Act = std::function<void(Thread&)>;

  // `function`: its number in the program.
  Builder(Program* program, size_t function, Random* random);

  Program& program;
  Random& random;
  Place place;
  size_t region = 0;

  bool in_kernel() const { return number_ == 0; }
  size_t number() const { return number_; }
  Function& function() { return program.functions[number_]; }

  // A register for a purpose; Any() never gives it.
  size_t New(const std::string& type, const std::string& letter);
  // Registers that everything may read and write.
  void AddPool(Class of, size_t count);
  size_t Any(Class of);
  // As many different ones.
  std::vector<size_t> Several(Class of, size_t count);
  const std::vector<size_t>& Pool(Class of) { return pools_[of]; }
  const std::string& Name(size_t at) { return function().registers[at].name; }

  Instruction& Emit(Instruction instruction);
  // With a predicate in front now and then, if it is optional.
  Instruction& Plain(std::string text, Act act, bool optional = true);
  // The parts that every program has.
  Instruction& Fixed(std::string text, Act act) {
    return Plain(std::move(text), std::move(act), false);
  }
  // Done by the lanes of the place's mask.
  Instruction& Together(
      std::string text,
      std::function<void(const std::vector<Thread*>&)> together, bool optional);

  size_t NewLabel() { return ++labels_; }
  void PlaceLabel(size_t label);
  void Branch(size_t label);
  void BranchIf(size_t predicate, bool unless, size_t label);

  // A new predicate of lanes, in a register of its own, or of whole blocks.
  size_t Condition();
  size_t UniformCondition();

 private:
  const size_t number_;
  size_t names_ = 0, labels_ = 0;
  std::map<Class, std::vector<size_t>> pools_;
};

std::string LabelName(size_t label);

// Code that lies between is left out as a whole when a program is shrunk.
class Region {
 public:
  explicit Region(Builder* builder);
  ~Region() { builder_->region = outer_; }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  Builder* const builder_;
  const size_t outer_;
};

}  // namespace holdfast::random_ptx

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_BUILDER_H_
