// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/forms.h"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace holdfast::software::ptx {
namespace {

using Words = std::vector<std::string>;

const Form* Match(absl::string_view spelling, Modifiers* modifiers) {
  const std::vector<absl::string_view> words = absl::StrSplit(spelling, '.');
  return MatchForm(words[0], absl::MakeSpan(words).subspan(1), modifiers);
}

bool IsSpace(absl::string_view word) {
  return std::set<absl::string_view>{"global", "shared", "local", "const",
                                     "param"}
             .count(word.substr(0, word.find(':'))) == 1;
}

// The same words in another order, but types and spaces in theirs.
Words Shuffled(const Words& words, std::mt19937& random) {
  Words shuffled = words;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  const auto restore = [&](auto belongs) {
    auto next = words.begin();
    for (std::string& word : shuffled) {
      if (!belongs(word)) continue;
      next = std::find_if(next, words.end(), belongs);
      word = *next++;
    }
  };
  restore([](const std::string& word) {
    return TypeFromSpelling(word).has_value();
  });
  restore([](const std::string& word) { return IsSpace(word); });
  return shuffled;
}

// Instructions whose names are longer than the opcode.
bool HasLongNames(Opcode opcode) {
  return std::set<Opcode>{
             Opcode::kBar,          Opcode::kBarrier,  Opcode::kCp,
             Opcode::kCvta,         Opcode::kDp2a,     Opcode::kDiv,
             Opcode::kFence,        Opcode::kMad,      Opcode::kMad24,
             Opcode::kMadc,         Opcode::kMbarrier, Opcode::kMembar,
             Opcode::kMul,          Opcode::kMul24,    Opcode::kShf,
             Opcode::kCreatepolicy, Opcode::kWmma}
             .count(opcode) == 1;
}

// If two places of a pattern take a word, the first place gets the first one.
bool HasTwoOfAKind(const Words& words) {
  return std::count_if(words.begin(), words.end(), [](const auto& word) {
           return word == "sat" || word == "add";
         }) > 1;
}

TEST(FormsTest, ModifiersMayStandInAnyOrder) {
  std::mt19937 random(7);
  int tried = 0;
  for (const Form& form : AllForms()) {
    if (HasLongNames(form.opcode)) continue;
    std::vector<std::string> spellings = Spellings(form);
    std::shuffle(spellings.begin(), spellings.end(), random);
    spellings.resize(std::min<size_t>(spellings.size(), 20));
    for (const std::string& spelling : spellings) {
      Words words = absl::StrSplit(spelling, '.');
      words.erase(words.begin());
      if (words.size() < 2 || HasTwoOfAKind(words)) continue;
      if (words.front() == "async") continue;  // the name is st.async
      const std::string other =
          absl::StrCat(SpellingOf(form.opcode), ".",
                       absl::StrJoin(Shuffled(words, random), "."));
      Modifiers expected, actual;
      ASSERT_NE(Match(spelling, &expected), nullptr) << spelling;
      ASSERT_NE(Match(other, &actual), nullptr) << other;
      EXPECT_EQ(std::set(actual.words.begin(), actual.words.end()),
                std::set(expected.words.begin(), expected.words.end()))
          << other;
      EXPECT_EQ(
          std::vector(actual.types, actual.types + actual.type_count),
          std::vector(expected.types, expected.types + expected.type_count))
          << other;
      ++tried;
    }
  }
  EXPECT_GT(tried, 1000);
}

TEST(FormsTest, ThoseOfAnotherOrderAreThoseOfThePattern) {
  Modifiers cub, manual;
  ASSERT_NE(Match("vote.ballot.sync.b32", &cub), nullptr);
  ASSERT_NE(Match("vote.sync.ballot.b32", &manual), nullptr);
  EXPECT_EQ(cub.words, manual.words);
  ASSERT_NE(Match("wmma.load.a.m8n8k4.f64.col.aligned.sync.global", &cub),
            nullptr);
  ASSERT_NE(Match("wmma.load.a.sync.aligned.col.m8n8k4.global.f64", &manual),
            nullptr);
  EXPECT_EQ(cub.words, manual.words);
  ASSERT_NE(Match("cvt.f32.u64.rn", &cub), nullptr);
  ASSERT_NE(Match("cvt.rn.f32.u64", &manual), nullptr);
  EXPECT_EQ(cub.words, manual.words);
  EXPECT_EQ(cub.types[0], manual.types[0]);
  EXPECT_EQ(cub.types[1], manual.types[1]);
}

// As ptxas 13.0 has it.
TEST(FormsTest, WhatIsTheNamesComesFirstAndNothingTwice) {
  Modifiers modifiers;
  for (const char* refused :
       {"mul.u32.wide", "mad.s32.lo", "mul.u32.hi", "cvta.global.to.u64",
        "mbarrier.shared.init.b64", "mbarrier.parity.test_wait.b64",
        "cp.cg.async.shared.global", "shf.wrap.l.b32", "membar.alias.proxy",
        "bar.sync.warp", "add.rn.rn.f32", "ld.global.global.u32",
        "wmma.a.load.sync.aligned.row.m8n8k4.f64",
        "wmma.load.sync.a.aligned.row.m8n8k4.f64", "cp.async.cg.global.shared",
        "cvt.u64.f32.rn", "add.f32.f32", "add"}) {
    EXPECT_EQ(Match(refused, &modifiers), nullptr) << refused;
  }
}

}  // namespace
}  // namespace holdfast::software::ptx
