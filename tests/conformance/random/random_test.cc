// SPDX-License-Identifier: Apache-2.0
//
// The programs of a few seeds, from $HOLDFAST_RANDOM_SEED on; `try_seeds` goes
// on.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/conformance/forms/program.h"
#include "tests/conformance/random/generator.h"
#include "tests/conformance/random/interpreter.h"
#include "tests/conformance/random/trial.h"

namespace holdfast::random_ptx {
namespace {

constexpr uint64_t kSeeds = 12;

uint64_t FirstSeed() {
  const char* first = getenv("HOLDFAST_RANDOM_SEED");
  return first == nullptr ? 0 : strtoull(first, nullptr, 10);
}

const cuda::DriverApi& Driver() {
  const char* library = getenv("HOLDFAST_DRIVER_LIBRARY");
  static const auto& machine =
      *new forms::Machine(library == nullptr ? "" : library);
  return machine.api();
}

class RandomPrograms : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomPrograms, LeaveWhatTheInterpreterLeaves) {
  const Program program = Generate(FirstSeed() + GetParam());
  EXPECT_EQ(Try(Driver(), program), "") << PtxOf(program);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms,
                         testing::Range<uint64_t>(0, kSeeds));

// With masks of 16 lanes LLVM made no end of this one (mask_fences.h).
TEST(RandomProgram, WhoseMasksOfWideValuesAreCombinedIsCompiled) {
  EXPECT_EQ(Try(Driver(), Generate(35067)), "");
}

// The assembler takes them, where there is one.
TEST(Generator, WritesValidPtx) {
  const std::string tool = "/usr/local/cuda/bin/ptxas";
  if (access(tool.c_str(), X_OK) != 0) GTEST_SKIP() << "no " << tool;
  const std::string stem = testing::TempDir() + "/random";
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::string ptx = PtxOf(Generate(FirstSeed() + seed));
    std::ofstream(stem + ".ptx") << ptx;
    const std::string command =
        absl::StrCat(tool, " -arch=sm_90 -O0 -o /dev/null ", stem, ".ptx > ",
                     stem, ".log 2>&1");
    if (std::system(command.c_str()) == 0) continue;
    std::ifstream log(stem + ".log");
    FAIL() << std::string(std::istreambuf_iterator<char>(log), {}) << ptx;
  }
}

TEST(Generator, WritesTheSameProgramForASeed) {
  EXPECT_EQ(PtxOf(Generate(7)), PtxOf(Generate(7)));
  EXPECT_NE(PtxOf(Generate(7)), PtxOf(Generate(8)));
}

// The judge must not be blind: another constant is another result.
TEST(Trial, SeesAnotherResult) {
  const Program program = Generate(3);
  Memory other = Interpret(program).memory;
  EXPECT_EQ(Difference(Interpret(program).memory, other), "");
  other.dump[other.dump.size() / 2] ^= 1;
  EXPECT_NE(Difference(Interpret(program).memory, other), "");
}

// Whatever fails for one instruction alone is left with that one.
TEST(Trial, ShrinksToWhatFails) {
  const Program program = Generate(5);
  auto fails = [](const Program& one) {
    return PtxOf(one).find("xor.b32") != std::string::npos &&
           Interpret(one).invalid.empty();
  };
  ASSERT_TRUE(fails(program));
  const Program small = Shrink(program, fails);
  EXPECT_TRUE(fails(small));
  EXPECT_LT(PtxOf(small).size(), PtxOf(program).size());
}

// A driver that gets one statement wrong: that one is named, and where it
// shows.
TEST(Trial, ExplainsByTheFirstStatementThatDiffers) {
  const Program program = Generate(5);
  std::vector<std::string> statements;
  for (const Instruction& one : program.functions[0].code) {
    if (one.optional) statements.push_back(one.text);
  }
  ASSERT_GT(statements.size(), 4u);
  const std::string wrong = statements[statements.size() / 2];
  const auto attempt = [&](const Program& one) -> std::string {
    return PtxOf(one).find(wrong) == std::string::npos
               ? ""
               : "dump of thread 3, byte 8: 1, expected 2\n";
  };
  const std::string text = Explain(program, attempt);
  EXPECT_NE(text.find(wrong), std::string::npos) << text;
  EXPECT_NE(text.find("[%a2+8]"), std::string::npos) << text;
}

}  // namespace
}  // namespace holdfast::random_ptx
