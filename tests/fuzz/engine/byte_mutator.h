// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_FUZZ_ENGINE_BYTE_MUTATOR_H_
#define HOLDFAST_TESTS_FUZZ_ENGINE_BYTE_MUTATOR_H_

#include <string>
#include <vector>

#include "tests/fuzz/engine/random.h"

namespace holdfast::fuzz {

// Makes inputs of bytes or text from valid inputs: changes bytes; removes,
// swaps and cuts off pieces; inserts pieces of other inputs, words of the
// dictionary and numbers at the limits of their types.
class ByteMutator {
 public:
  // REQUIRES: `corpus` is not empty.
  explicit ByteMutator(std::vector<std::string> corpus,
                       std::vector<std::string> dictionary = {});

  // Returns an input of the corpus with one to six edits.
  std::string Make(Random& random) const;

  // Changes `bytes` in one place.
  void Edit(std::string* bytes, Random& random) const;

 private:
  const std::vector<std::string> corpus_;
  std::vector<std::string> dictionary_;
};

}  // namespace holdfast::fuzz

#endif  // HOLDFAST_TESTS_FUZZ_ENGINE_BYTE_MUTATOR_H_
