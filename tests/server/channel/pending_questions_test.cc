// SPDX-License-Identifier: Apache-2.0
#include "server/channel/pending_questions.h"

#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "core/base/memfd.h"
#include "holdfast/internal/executor.pb.h"
#include "server/rpc/status_conversion.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using ::holdfast::testing::StatusIs;
using Questions = PendingQuestions<internal::FromExecutor>;

constexpr absl::Duration kHang = absl::Seconds(30);

internal::FromExecutor Quiesced(uint64_t question) {
  internal::FromExecutor message;
  message.set_question(question);
  message.mutable_quiesced();
  return message;
}

class PendingQuestionsTest : public ::testing::Test {
 protected:
  uint64_t Ask() { return questions_.Ask(internal::FromExecutor::kQuiesced); }
  bool Wait(uint64_t question) {
    return questions_.Wait(question, absl::Now() + kHang);
  }
  void ExpectRefused(const internal::FromExecutor& answer) {
    EXPECT_THAT(questions_.Check(answer),
                StatusIs(absl::StatusCode::kInvalidArgument, "does not wait"));
  }

  Questions questions_;
};

TEST_F(PendingQuestionsTest, AnswersComeInAnyOrder) {
  const uint64_t first = Ask();
  const uint64_t second = Ask();
  EXPECT_EQ(first, 0u);
  EXPECT_NE(first, second);
  for (const uint64_t question : {second, first}) {
    ASSERT_OK(questions_.Check(Quiesced(question)));
    questions_.Receive(Quiesced(question), *CreateMemfd("answer", 1));
  }
  for (const uint64_t question : {first, second}) {
    EXPECT_TRUE(Wait(question));
    ASSERT_OK_AND_ASSIGN(const auto answer, questions_.Take(question));
    EXPECT_EQ(answer.message.question(), question);
    EXPECT_TRUE(answer.descriptor.valid());
  }
}

TEST_F(PendingQuestionsTest, AThreadWaitsUntilTheAnswerComes) {
  const uint64_t question = Ask();
  std::thread thread([&] { EXPECT_TRUE(Wait(question)); });
  questions_.Receive(Quiesced(question), UniqueFd());
  thread.join();
  EXPECT_OK(questions_.Take(question));
}

TEST_F(PendingQuestionsTest, TheErrorOfAnAnswerIsTheStatus) {
  const uint64_t question = Ask();
  internal::FromExecutor answer = Quiesced(question);
  *answer.mutable_error() = ToError(absl::AbortedError("a stream waits"));
  questions_.Receive(std::move(answer), UniqueFd());
  EXPECT_THAT(questions_.Take(question),
              StatusIs(absl::StatusCode::kAborted, "a stream waits"));
}

TEST_F(PendingQuestionsTest, OnlyAnswersThatAreWaitedForAreTaken) {
  ExpectRefused(Quiesced(0));
  const uint64_t question = Ask();
  internal::FromExecutor other;
  other.set_question(question);
  other.mutable_serving();
  ExpectRefused(other);
  ASSERT_OK(questions_.Check(Quiesced(question)));
  questions_.Receive(Quiesced(question), UniqueFd());
  ExpectRefused(Quiesced(question));
  ASSERT_OK(questions_.Take(question));
  ExpectRefused(Quiesced(question));
}

TEST_F(PendingQuestionsTest, ALateAnswerIsDroppedOnce) {
  const uint64_t question = Ask();
  EXPECT_FALSE(questions_.Wait(question, absl::InfinitePast()));
  EXPECT_THAT(questions_.Take(question),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "no answer"));
  ASSERT_OK(questions_.Check(Quiesced(question)));
  questions_.Receive(Quiesced(question), UniqueFd());
  ExpectRefused(Quiesced(question));
}

TEST_F(PendingQuestionsTest, SeveralThreadsWaitForAnAnswerThatNoneTakes) {
  const uint64_t question =
      questions_.Ask(internal::FromExecutor::kQuiesced, /*taken=*/false);
  std::thread thread([&] { EXPECT_TRUE(Wait(question)); });
  questions_.Receive(Quiesced(question), UniqueFd());
  EXPECT_TRUE(Wait(question));
  thread.join();
  ExpectRefused(Quiesced(question));
}

TEST_F(PendingQuestionsTest, TheEndIsTheAnswerToEachQuestion) {
  const uint64_t answered = Ask();
  const uint64_t before = Ask();
  questions_.Receive(Quiesced(answered), UniqueFd());
  std::thread thread([&] { EXPECT_TRUE(Wait(before)); });
  questions_.End(absl::UnavailableError("killed"));
  questions_.End(absl::UnavailableError("and gone"));
  thread.join();
  const uint64_t after = Ask();
  EXPECT_TRUE(Wait(after));
  for (const uint64_t question : {before, after}) {
    EXPECT_THAT(questions_.Take(question),
                StatusIs(absl::StatusCode::kUnavailable, "killed"));
  }
  EXPECT_OK(questions_.Take(answered));
}

}  // namespace
}  // namespace holdfast
