// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_ENGINE_RANDOM_H_
#define HOLDFAST_TESTS_FUZZ_ENGINE_RANDOM_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::fuzz {

// A generator whose sequence depends on its seed alone, on every machine, so
// that a printed seed reproduces an execution (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // Returns a number in [0, limit), and 0 if `limit` is 0.
  uint64_t Below(uint64_t limit) { return limit == 0 ? 0 : Next() % limit; }

  // Returns true once in `n` times.
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  // Returns an element. REQUIRES: `container` is not empty.
  template <typename Container>
  const auto& Pick(const Container& container) {
    return container[Below(std::size(container))];
  }

  // Returns a number at which programs go wrong: 0, 1, a power of two, the
  // largest of a type, or next to one of these.
  uint64_t Boundary() {
    const uint64_t power = uint64_t{1} << Below(64);
    switch (Below(6)) {
      case 0:
        return Below(3);
      case 1:
        return power;
      case 2:
        return power - 1;
      case 3:
        return power + 1;
      case 4:
        return ~uint64_t{0} - Below(2) * (power - 1);
      default:
        return Next();
    }
  }

  std::string Bytes(size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(Next());
    return bytes;
  }

 private:
  uint64_t state_;
};

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_ENGINE_RANDOM_H_
