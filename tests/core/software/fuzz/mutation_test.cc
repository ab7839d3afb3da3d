// SPDX-License-Identifier: Apache-2.0
//
// Feeds a fuzz target with its corpus, truncated and mutated, the same inputs
// in every run. Whatever crashes or hangs fails the test.
#include <algorithm>
#include <random>

#include "gtest/gtest.h"
#include "tests/core/software/fuzz/fuzz_target.h"

namespace holdfast::software {
namespace {

void Feed(const std::string& input) {
  EXPECT_EQ(LLVMFuzzerTestOneInput(
                reinterpret_cast<const uint8_t*>(input.data()), input.size()),
            0);
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> corpus)
      : corpus_(std::move(corpus)) {}

  std::string Next() {
    std::string text = Pick();
    for (size_t edits = 1 + Below(6); edits > 0; --edits) Edit(&text);
    return text;
  }

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }
  const std::string& Pick() { return corpus_[Below(corpus_.size())]; }

  void Edit(std::string* text) {
    constexpr char kMarks[] = "{}()[];,.%<>@!-0x\"\n\\:|+=9";
    const size_t at = Below(text->size());
    switch (Below(7)) {
      case 0:
        if (!text->empty()) (*text)[at] = static_cast<char>(random_());
        break;
      case 1:
        text->erase(at, 1 + Below(20));
        break;
      case 2:
        text->insert(at, 1, kMarks[Below(sizeof(kMarks) - 1)]);
        break;
      case 3: {  // a piece of another input
        const std::string& other = Pick();
        text->insert(at, other.substr(Below(other.size()), Below(200)));
        break;
      }
      case 4: {  // two words change places
        const size_t other = Below(text->size());
        const size_t size =
            std::min<size_t>(Below(12), text->size() - std::max(at, other));
        if (size <= std::max(at, other) - std::min(at, other)) {
          std::swap_ranges(text->begin() + at, text->begin() + at + size,
                           text->begin() + other);
        }
        break;
      }
      case 5:
        text->resize(at);
        break;
      default: {  // numbers at their limits, in text and in binary
        constexpr const char* kNumbers[] = {
            "18446744073709551615", "4294967296",      "-1",
            "0xffffffffffffffff",   "0f7f800000",      "99999999999999999999",
            "\xff\xff\xff\xff",     "\x7f\xff\xff\xff"};
        text->replace(at, std::min<size_t>(4, text->size() - at),
                      kNumbers[Below(std::size(kNumbers))]);
      }
    }
  }

  const std::vector<std::string> corpus_;
  std::mt19937_64 random_{20};
};

TEST(MutationTest, TheCorpusItself) {
  for (const std::string& input : FuzzCorpus()) Feed(input);
}

TEST(MutationTest, Truncations) {
  for (const std::string& input : FuzzCorpus()) {
    const size_t step = std::max<size_t>(1, input.size() / 100);
    for (size_t size = 0; size < input.size(); size += step) {
      Feed(input.substr(0, size));
    }
  }
}

TEST(MutationTest, Mutations) {
  Mutator mutator(FuzzCorpus());
  for (int round = 0; round < 3000; ++round) Feed(mutator.Next());
}

}  // namespace
}  // namespace holdfast::software
