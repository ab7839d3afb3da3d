// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/byte_mutator.h"

#include <algorithm>
#include <utility>

namespace holdfast::fuzz {

ByteMutator::ByteMutator(std::vector<std::string> corpus,
                         std::vector<std::string> dictionary)
    : corpus_(std::move(corpus)), dictionary_(std::move(dictionary)) {
  for (const char* number :
       {"18446744073709551615", "4294967296", "-1", "0", "0xffffffffffffffff",
        "99999999999999999999", "\xff\xff\xff\xff", "\x7f\xff\xff\xff",
        "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"}) {
    dictionary_.emplace_back(number);
  }
}

std::string ByteMutator::Make(Random& random) const {
  std::string bytes = random.Pick(corpus_);
  for (uint64_t edits = 1 + random.Below(6); edits > 0; --edits) {
    Edit(&bytes, random);
  }
  return bytes;
}

void ByteMutator::Edit(std::string* bytes, Random& random) const {
  // Headers, where most is decided, stand in front.
  const size_t at = random.Below(
      random.OneIn(2) ? std::min<size_t>(bytes->size(), 32) : bytes->size());
  switch (random.Below(7)) {
    case 0:
      if (!bytes->empty()) (*bytes)[at] = static_cast<char>(random.Next());
      break;
    case 1:
      bytes->erase(at, 1 + random.Below(20));
      break;
    case 2:
      bytes->resize(at);
      break;
    case 3: {
      const std::string& other = random.Pick(corpus_);
      bytes->insert(at, other, random.Below(other.size()), random.Below(200));
      break;
    }
    case 4: {  // Two pieces of the same size change places.
      const size_t other = random.Below(bytes->size());
      const size_t gap = std::max(at, other) - std::min(at, other);
      const size_t size = std::min({gap, bytes->size() - std::max(at, other),
                                    static_cast<size_t>(random.Below(12))});
      std::swap_ranges(bytes->begin() + at, bytes->begin() + at + size,
                       bytes->begin() + other);
      break;
    }
    case 5:
      bytes->insert(at, random.Pick(dictionary_));
      break;
    default: {
      const std::string& word = random.Pick(dictionary_);
      bytes->replace(at, std::min(word.size(), bytes->size() - at), word);
    }
  }
}

}  // namespace holdfast::fuzz
