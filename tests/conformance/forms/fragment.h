// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_FRAGMENT_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_FRAGMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/conformance/forms/operation.h"
#include "tests/conformance/forms/value.h"

namespace holdfast::forms {

inline constexpr unsigned kLanes = 32;  // of a warp

// Returns "{prefix0, prefix1, ...}".
std::string Names(const std::string& prefix, size_t count);

// Returns the number behind `letter` in a word such as "m16n8k32".
int NumberBehind(const std::string& word, char letter);

// The elements of a matrix that a lane makes out of one of its sources, in
// registers as an mma has them. They are small numbers that every type has, so
// that sums of products are exact however a GPU adds; those of integers are all
// bits, so that sums leave 32 bits.
class Fragment {
 public:
  // `elements` counts those of all lanes. `source` is the number of the source
  // that they are made of.
  Fragment(Kind kind, int elements, int source)
      : kind_(std::move(kind)),
        count_(elements / static_cast<int>(kLanes)),
        source_(source) {}

  const Kind& kind() const { return kind_; }
  // Elements of a lane, elements in a register, and registers.
  int count() const { return count_; }
  int parts() const;
  int registers() const { return count_ / parts(); }

  // Returns the value of a lane's element i.
  int64_t NumberOf(const Sources& in, int i) const;

  // The name of a register, and the list of all.
  std::string Name(int r) const;
  std::string List() const;
  // Returns the code that makes the registers out of the source.
  std::string Code() const;

 private:
  bool whole() const;
  std::string NumberCode(int i) const;
  std::string RegisterCode(int r) const;

  Kind kind_;
  int count_;
  int source_;
};

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_FRAGMENT_H_
