// SPDX-License-Identifier: Apache-2.0
//
// Every form that computes a value, loads or stores, on edges and random
// numbers, against an oracle and against what a GPU computed.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/conformance/forms/inputs.h"
#include "tests/conformance/forms/judge.h"
#include "tests/conformance/forms/spellings.h"

namespace holdfast::forms {
namespace {

std::string Environment(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

const Machine& Driver() {
  static const auto& machine =
      *new Machine(Environment("HOLDFAST_DRIVER_LIBRARY"));
  return machine;
}

const Goldens& FromGpu() {
  static const auto& goldens =
      *new Goldens(ReadGoldens(Environment("HOLDFAST_FORMS_GOLDENS")));
  return goldens;
}

TEST(Forms, EachHasAnOracle) {
  for (const std::string& spelling : TriedSpellings()) {
    EXPECT_FALSE(Describe(spelling).empty()) << spelling;
  }
}

// "": the assembler takes it, or is not here.
std::string Assemble(const std::string& ptx, const std::string& target) {
  const std::string tool = "/usr/local/cuda/bin/ptxas";
  if (access(tool.c_str(), X_OK) != 0) return "";
  const std::string stem = absl::StrCat(testing::TempDir(), "/forms", getpid());
  std::ofstream(stem + ".ptx") << ptx;
  const std::string command =
      absl::StrCat(tool, " -arch=", target, " -O0 -o /dev/null ", stem,
                   ".ptx > ", stem, ".log 2>&1");
  const bool failed = std::system(command.c_str()) != 0;
  std::ifstream log(stem + ".log");
  const std::string text{std::istreambuf_iterator<char>(log), {}};
  return failed ? text : "";
}

class Batches : public testing::TestWithParam<Batch> {};

TEST_P(Batches, AreValidPtx) {
  const std::string ptx = PtxOf(GetParam());
  // The assembler no longer makes code for what is older than sm_75.
  const std::string& target = GetParam().cases[0].operation.target;
  const std::string log =
      Assemble(ptx, absl::EndsWith(target, "a") ? target : "sm_90");
  EXPECT_EQ(log, "") << ptx;
}

TEST_P(Batches, GiveWhatTheOracleAndTheGpuSay) {
  const Batch& batch = GetParam();
  const auto inputs = InputsFor(batch.cases[0].operation.sources);
  Outputs outputs;
  ASSERT_EQ(Driver().Run(batch, false, inputs, &outputs), "");
  for (size_t i = 0; i < batch.cases.size(); ++i) {
    const Case& one = batch.cases[i];
    EXPECT_EQ(AgainstOracle(one, inputs, outputs[i]), "");
    const auto golden = FromGpu().find(one.name);
    if (golden == FromGpu().end()) continue;
    EXPECT_EQ(AgainstGolden(one, inputs, outputs[i], golden->second), "");
  }
}

// The same of values that are one for all lanes, which code keeps as scalars.
TEST_P(Batches, GiveTheSameForUniformValues) {
  const Batch& batch = GetParam();
  const auto all = InputsFor(batch.cases[0].operation.sources);
  std::vector<Sources> inputs;
  const size_t group = batch.cases[0].operation.group;
  for (size_t i = 0; i < all.size(); i += all.size() / 512) {
    inputs.insert(inputs.end(), group, all[i]);
  }
  Outputs outputs;
  ASSERT_EQ(Driver().Run(batch, true, inputs, &outputs), "");
  for (size_t i = 0; i < batch.cases.size(); ++i) {
    EXPECT_EQ(AgainstOracle(batch.cases[i], inputs, outputs[i]), "");
  }
}

std::string NameOf(const testing::TestParamInfo<Batch>& info) {
  const std::string& first = info.param.cases[0].spelling;
  return absl::StrCat(info.index, "_", first.substr(0, first.find('.')));
}

INSTANTIATE_TEST_SUITE_P(All, Batches,
                         testing::ValuesIn(MakeBatches(TriedSpellings())),
                         NameOf);

}  // namespace

void PrintTo(const Batch& batch, std::ostream* out) {
  *out << batch.cases.size() << " cases from " << batch.cases[0].name;
}

}  // namespace holdfast::forms
