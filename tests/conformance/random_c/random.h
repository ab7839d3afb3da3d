// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_RANDOM_H_
#define HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_RANDOM_H_

#include <cstdint>
#include <iterator>

namespace holdfast::random_c {

// SplitMix64. Generates the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  uint64_t Below(uint64_t limit) { return Next() % limit; }
  uint64_t Between(uint64_t first, uint64_t last) {
    return first + Below(last - first + 1);
  }
  bool Chance(unsigned percent) { return Below(100) < percent; }
  // `list` must not be empty.
  template <typename List>
  auto& Pick(List& list) {
    return list[Below(std::size(list))];
  }

 private:
  uint64_t state_;
};

}  // namespace holdfast::random_c

#endif  // HOLDFAST_TESTS_CONFORMANCE_RANDOM_C_RANDOM_H_
