// SPDX-License-Identifier: Apache-2.0
//
// Writes one function of a random program: makes its registers, and appends
// instructions to its code.
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_BUILDER_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_BUILDER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/random/program.h"

namespace holdfast::random_ptx {

// A random number generator with the same sequence on every machine.
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
  // Returns a number that is often small, and often at the limit of a type.
  uint64_t Number();

 private:
  uint64_t state_;
};

// The classes of registers. Floating-point values have classes of their own,
// because the bits of a NaN are unspecified: only Canonical converts them to
// integers.
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

// The threads that execute the code which is being written.
struct Place {
  size_t mask = 0;       // the register with a warp's lanes, if `gathered`
  bool gathered = true;  // the lanes of a warp come together
  bool uniform = true;   // all threads of a block come, or none
  int depth = 0;         // of nested control flow
};

class Builder {
 public:
  using Act = std::function<void(Thread&)>;

  // `function` is the function's index in the program.
  Builder(Program* program, size_t function, Random* random);

  Program& program;
  Random& random;
  Place place;
  size_t region = 0;

  bool in_kernel() const { return number_ == 0; }
  size_t number() const { return number_; }
  Function& function() { return program.functions[number_]; }

  // Makes a register that Any() never returns, and returns its index.
  size_t New(const std::string& type, const std::string& letter);
  // Makes `count` registers that any instruction may read and write: the pool
  // of the class.
  void AddPool(Class of, size_t count);
  // Returns a random register of the pool.
  size_t Any(Class of);
  // Returns `count` registers of the pool, different ones if it has so many.
  std::vector<size_t> Several(Class of, size_t count);
  const std::vector<size_t>& Pool(Class of) { return pools_[of]; }
  const std::string& Name(size_t at) { return function().registers[at].name; }

  Instruction& Emit(Instruction instruction);
  // Appends an instruction that each thread executes by `act`. `optional`: the
  // program stays valid without it, and it sometimes gets a guard.
  Instruction& Plain(std::string text, Act act, bool optional = true);
  // Appends an instruction that is never left out and has no guard.
  Instruction& Fixed(std::string text, Act act) {
    return Plain(std::move(text), std::move(act), false);
  }
  // Appends an instruction that the lanes of the place's mask execute together.
  Instruction& Together(
      std::string text,
      std::function<void(const std::vector<Thread*>&)> together, bool optional);

  size_t NewLabel() { return ++labels_; }
  void PlaceLabel(size_t label);
  void Branch(size_t label);
  void BranchIf(size_t predicate, bool unless, size_t label);

  // Append code that sets a new predicate register, and return the register.
  // The predicate may differ between lanes, or only between blocks.
  size_t Condition();
  size_t UniformCondition();

 private:
  const size_t number_;
  size_t names_ = 0, labels_ = 0;
  std::map<Class, std::vector<size_t>> pools_;
};

std::string LabelName(size_t label);

// The code that is written while a Region lives can be left out as a whole when
// a program is shrunk.
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
