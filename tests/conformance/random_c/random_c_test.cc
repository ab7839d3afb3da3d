// SPDX-License-Identifier: Apache-2.0
//
// The programs of a few seeds, from $HOLDFAST_RANDOM_C_SEED on; `try_programs`
// goes on.
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/conformance/random_c/generator.h"
#include "tests/conformance/random_c/reference.h"
#include "tests/conformance/random_c/trial.h"

namespace holdfast::random_c {
namespace {

constexpr uint64_t kSeeds = 24;

uint64_t FirstSeed() {
  const char* first = getenv("HOLDFAST_RANDOM_C_SEED");
  return first == nullptr ? 0 : strtoull(first, nullptr, 10);
}

const Device& TheDevice() {
  const char* library = getenv("HOLDFAST_DRIVER_LIBRARY");
  static const auto& device = *new Device(library == nullptr ? "" : library);
  return device;
}

// Of all seeds, since a compiler starts slowly.
const std::vector<Case>& Cases() {
  static const auto& cases = *[] {
    std::vector<Program> programs;
    for (uint64_t i = 0; i < kSeeds; ++i) {
      programs.push_back(Generate(FirstSeed() + i));
    }
    auto* made = new std::vector<Case>;
    const std::string error = MakeCases(programs, {}, made);
    EXPECT_EQ(error, "");
    return made;
  }();
  return cases;
}

class RandomPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomPrograms, LeaveWhatTheHostLeaves) {
  ASSERT_EQ(Cases().size(), kSeeds);
  const Case& one = Cases()[GetParam()];
  EXPECT_EQ(TheDevice().Try(one), "") << one.source;
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms,
                         testing::Range<uint64_t>(0, kSeeds));

TEST(Generator, WritesTheSameProgramForASeed) {
  EXPECT_EQ(DeviceTextOf(Generate(7), {}), DeviceTextOf(Generate(7), {}));
  EXPECT_NE(DeviceTextOf(Generate(7), {}), DeviceTextOf(Generate(8), {}));
}

// The judge must not be blind: another result is seen.
TEST(Trial, SeesAnotherResult) {
  ASSERT_EQ(Cases().size(), kSeeds);
  Case other = Cases()[0];
  other.expected.back().back() ^= 1;
  EXPECT_NE(TheDevice().Try(other), "");
}

TEST(Trial, ShrinksToWhatFails) {
  const Program program = Generate(5);
  const int wanted = program.nodes / 2;
  const std::set<int> without =
      Shrink(program.nodes,
             [&](const std::set<int>& out) { return out.count(wanted) == 0; });
  EXPECT_EQ(without.size(), static_cast<size_t>(program.nodes) - 1);
  EXPECT_LT(DeviceTextOf(program, without).size(),
            DeviceTextOf(program, {}).size());
}

TEST(Cases, AreReadAsTheyWereWritten) {
  ASSERT_EQ(Cases().size(), kSeeds);
  std::stringstream file;
  Write(Cases()[1], file);
  Case read;
  ASSERT_TRUE(Read(file, &read));
  EXPECT_EQ(read.source, Cases()[1].source);
  EXPECT_EQ(read.inputs, Cases()[1].inputs);
  EXPECT_EQ(read.expected, Cases()[1].expected);
  EXPECT_FALSE(Read(file, &read));
}

}  // namespace
}  // namespace holdfast::random_c
