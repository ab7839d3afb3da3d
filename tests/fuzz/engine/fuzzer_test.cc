// SPDX-License-Identifier: Apache-2.0
//
// The judge must not be blind: whatever goes wrong in an execution is found,
// counted, and found again from what was printed.
#include "tests/fuzz/engine/fuzzer.h"

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace holdfast::fuzz {
namespace {

class FuzzerTarget : public FuzzTarget {
 public:
  using Body = std::function<absl::Status(Random&)>;
  explicit FuzzerTarget(Body body) : body_(std::move(body)) {}
  absl::Status Execute(Random& random) override { return body_(random); }

 private:
  const Body body_;
};

int Fuzz(std::vector<std::string> flags, FuzzerTarget::Body body) {
  flags.insert(flags.begin(), "fuzz");
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  return FuzzMain(static_cast<int>(argv.size()), argv.data(), [&body] {
    return std::make_unique<FuzzerTarget>(std::move(body));
  });
}

// A defect for one number in a hundred.
absl::Status FailAtSome(Random& random) {
  return random.OneIn(100) ? absl::DataLossError("wrong") : absl::OkStatus();
}

TEST(FuzzerTest, NoFindingIsSuccess) {
  EXPECT_EQ(
      Fuzz({"--executions=100"}, [](Random&) { return absl::OkStatus(); }), 0);
}

TEST(FuzzerTest, AnErrorIsAFinding) {
  EXPECT_EQ(Fuzz({"--executions=1000"}, FailAtSome), 1);
}

TEST(FuzzerTest, ACrashIsAFinding) {
  EXPECT_EQ(Fuzz({"--executions=1000"},
                 [](Random& random) {
                   if (random.OneIn(100)) std::abort();
                   return absl::OkStatus();
                 }),
            1);
  EXPECT_EQ(
      Fuzz({"--executions=1"}, [](Random&) -> absl::Status { std::_Exit(3); }),
      1);
}

TEST(FuzzerTest, AnExecutionIsFoundAgainByItsNumber) {
  std::vector<uint64_t> failed;
  uint64_t number = 0;
  EXPECT_EQ(Fuzz({"--executions=1000", "--seed=5", "--fork=0"},
                 [&](Random& random) {
                   const absl::Status status = FailAtSome(random);
                   if (!status.ok()) failed.push_back(number);
                   ++number;
                   return status;
                 }),
            1);
  ASSERT_FALSE(failed.empty());
  const std::string first = absl::StrCat("--first=", failed.back());
  EXPECT_EQ(Fuzz({"--executions=1", "--seed=5", first}, FailAtSome), 1);
  EXPECT_EQ(Fuzz({"--executions=1", "--seed=6", first}, FailAtSome), 0);
}

class SpentAtOnce : public FuzzTarget {
 public:
  absl::Status Execute(Random&) override {
    if (spent_) return absl::InternalError("executed again");
    spent_ = true;
    return absl::OkStatus();
  }
  bool Spent() const override { return spent_; }

 private:
  bool spent_ = false;
};

TEST(FuzzerTest, ASpentTargetIsReplacedAndIsNoFinding) {
  std::string program = "fuzz", flag = "--executions=5";
  char* argv[] = {program.data(), flag.data()};
  testing::internal::CaptureStdout();
  EXPECT_EQ(FuzzMain(2, argv, [] { return std::make_unique<SpentAtOnce>(); }),
            0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "5 executions, 0 findings, seed 1; \n");
}

TEST(FuzzerTest, ExecutionsDiffer) {
  std::set<uint64_t> numbers;
  for (const char* seed : {"--seed=1", "--seed=2"}) {
    Fuzz({"--executions=1000", seed, "--fork=0"}, [&](Random& random) {
      numbers.insert(random.Next());
      return absl::OkStatus();
    });
  }
  EXPECT_EQ(numbers.size(), 2000u);
}

TEST(FuzzerTest, UnknownFlagsAreRefused) {
  const auto nothing = [](Random&) { return absl::OkStatus(); };
  EXPECT_EQ(Fuzz({"--execution=1"}, nothing), 2);
  EXPECT_EQ(Fuzz({"--executions=x"}, nothing), 2);
  EXPECT_EQ(Fuzz({"--seed"}, nothing), 2);
}

}  // namespace
}  // namespace holdfast::fuzz
