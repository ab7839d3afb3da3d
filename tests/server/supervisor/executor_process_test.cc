// SPDX-License-Identifier: Apache-2.0
//
// Executors that say what no executor of ours says: this program is each of
// them, by the name of a behaviour.
#include "server/supervisor/executor_process.h"

#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "core/base/memfd.h"
#include "gtest/gtest.h"
#include "server/channel/channel.h"
#include "server/supervisor/executor_report.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/thread_refusal.h"

namespace holdfast::supervisor {
namespace {

using ::holdfast::testing::StatusIs;
using ::holdfast::testing::ThreadRefusal;

constexpr char kBehaviour[] = "--behave=";
constexpr absl::Duration kHang = absl::Seconds(30);

// The executor's side.

void SayServing(Channel& channel, const internal::ToExecutor& question) {
  internal::FromExecutor message;
  message.set_question(question.question());
  message.mutable_serving();
  static_cast<void>(channel.Send(message));
}

// Says how often it was asked, and not before it is told to resume.
void AnswerUsageLate(Channel& channel) {
  uint64_t asked = 0;
  uint64_t question = 0;
  bool late = true;
  internal::ToExecutor request;
  while (channel.Receive(&request).ok()) {
    if (request.has_report_usage()) {
      ++asked;
      question = request.question();
    }
    if (request.has_report_usage() ? !late : request.has_resume()) {
      internal::FromExecutor answer;
      answer.set_question(question);
      answer.mutable_usage()->mutable_usage()->mutable_arena_bytes()->set_used(
          asked);
      static_cast<void>(channel.Send(answer));
    }
    if (request.has_resume()) {
      late = false;
      SayServing(channel, request);
    }
  }
}

void SayCopyFailed(Channel& channel, const internal::ToExecutor& question) {
  internal::FromExecutor message;
  message.set_question(question.question());
  message.mutable_chunk_copied();
  message.mutable_error()->set_code(
      static_cast<int>(absl::StatusCode::kDeadlineExceeded));
  message.mutable_error()->set_message("a slow device");
  static_cast<void>(channel.Send(message));
}

// Whatever it is asked, it serves.
void AnswerAll(Channel& channel) {
  internal::ToExecutor request;
  while (channel.Receive(&request).ok()) SayServing(channel, request);
}

internal::FromExecutor Say(absl::string_view behaviour) {
  internal::FromExecutor message;
  if (behaviour == "long account") {
    for (int i = 0; i < 100'000; ++i) message.mutable_usage()->add_copies();
  } else if (behaviour == "long description") {
    message.mutable_ready()->set_confinement(std::string(1 << 20, 'c'));
  } else if (behaviour == "long fault") {
    message.mutable_fault()->mutable_error()->set_message(
        std::string(1 << 20, 'm'));
    message.mutable_fault()->set_kernel(std::string(1 << 20, 'k'));
  } else if (behaviour == "chunk on no device") {
    message.mutable_chunk_created()->set_device(4'000'000'000);
  } else if (behaviour == "chunk on another device") {
    message.mutable_chunk_created()->set_device(1);
  } else if (behaviour == "memory of another device") {
    message.mutable_reserve()->mutable_place()->set_device(1);
    message.mutable_reserve()->set_bytes(1);
  } else if (behaviour == "chunk without a descriptor") {
    message.mutable_chunk_created()->set_chunk(1);
  } else if (behaviour == "answer to nothing") {
    message.set_question(1'000'000);
    message.mutable_quiesced();
  } else if (behaviour == "second answer") {
    message.set_question(1);
    message.mutable_serving();
  } else if (behaviour == "second description") {
    message.mutable_ready();
  }
  return message;
}

[[noreturn]] void Behave(absl::string_view behaviour) {
  Channel channel{UniqueFd(kChildChannelFd)};
  internal::FromExecutor ready;
  for (const uint32_t ordinal : {0, 1}) {
    v1::Device& device = *ready.mutable_ready()->add_devices();
    device.set_ordinal(ordinal);
    device.set_name("a device");
    device.set_total_memory(1 << 30);
  }
  static_cast<void>(channel.Send(ready));
  internal::ToExecutor request;
  while (channel.Receive(&request).ok() && !request.has_assign()) {
    if (request.has_save_chunk()) SayCopyFailed(channel, request);
  }
  SayServing(channel, request);
  if (behaviour == "late") AnswerUsageLate(channel);
  if (behaviour == "another answer") AnswerAll(channel);
  const internal::FromExecutor message = Say(behaviour);
  static_cast<void>(
      channel.Send(message, absl::StartsWith(behaviour, "chunk on") ? 0 : -1));
  while (channel.Receive(&request).ok()) {
  }
  _exit(0);
}

// The supervisor's.
class ExecutorProcessTest : public ::testing::Test {
 protected:
  void Start(const std::string& behaviour) {
    StartWithoutSession(behaviour);
    SessionStart start;
    start.assign.set_session_id("s-1");
    start.assign.set_token(std::string(16, 't'));
    start.assign.add_devices(0);
    start.tenant = std::make_shared<Tenant>(Tenant::Options{.name = "uid 1"});
    ASSERT_OK(process_->Serve(start, absl::Now() + kHang));
  }

  void StartWithoutSession(const std::string& behaviour) {
    ASSERT_OK(spawner_);
    auto process = ExecutorProcess::Start(
        **spawner_, {absl::StrCat(kBehaviour, behaviour)}, SpawnOptions(),
        {store_, code_, ledger_, memory_, exports_, collections_, kept_,
         totals_, pacer_});
    ASSERT_OK(process);
    process_ = *std::move(process);
    process_->OnEnd([this](const absl::Status& status) {
      end_ = status;
      ended_.Notify();
    });
    ASSERT_OK(process_->AwaitReady(absl::Now() + kHang));
  }

  std::string AwaitEnd() {
    EXPECT_TRUE(ended_.WaitForNotificationWithTimeout(kHang));
    return std::string(end_.message());
  }

  // Forks, so it comes before the threads of the others: locks that these hold
  // at that moment would be held for ever in the spawner.
  absl::StatusOr<std::unique_ptr<Spawner>> spawner_ = Spawner::Create({});
  ObjectStore store_{1 << 20};
  CodeCache code_{"", 0};
  MemoryLedger ledger_{1 << 20};
  DeviceMemory memory_;
  ExportRegistry exports_;
  collections::CollectionTable collections_;
  DescriptorStore kept_;
  ExecutionTotals totals_;
  SharePacer pacer_;
  absl::Status end_;
  absl::Notification ended_;
  std::unique_ptr<ExecutorProcess> process_;
};

TEST_F(ExecutorProcessTest, UsageIsAskedForOnceUntilItIsAnswered) {
  Start("late");
  for (int i = 0; i < 3; ++i) {
    process_->AskUsage(absl::Now() + absl::Milliseconds(10));
  }
  ASSERT_OK(process_->Resume(absl::Now() + kHang));
  const internal::Usage usage = process_->AskUsage(absl::Now() + kHang);
  EXPECT_EQ(usage.usage().arena_bytes().used(), 2u);
}

// It is no reason to wait on, whatever it says.
TEST_F(ExecutorProcessTest, WithoutAThreadNoneIsStartedAndTheNextOneIs) {
  if (!ThreadRefusal::kWorks) GTEST_SKIP();
  ASSERT_OK(spawner_);
  {
    const ThreadRefusal refusal;
    EXPECT_THAT(
        ExecutorProcess::Start(**spawner_, {absl::StrCat(kBehaviour, "late")},
                               SpawnOptions(),
                               {store_, code_, ledger_, memory_, exports_,
                                collections_, kept_, totals_, pacer_}),
        StatusIs(absl::StatusCode::kResourceExhausted,
                 "no thread for an executor's messages"));
  }
  StartWithoutSession("late");
}

TEST_F(ExecutorProcessTest, ACopyThatFailsForWantOfTimeHasFailed) {
  StartWithoutSession("copier");
  const UniqueFd file = *CreateMemfd("file", 4096);
  int asked = 0;
  const absl::Status copied =
      process_->SaveChunk({.device = 0,
                           .size = 4096,
                           .file = file.get(),
                           .deadline = absl::Now() + kHang,
                           .cancelled = [&asked] { return ++asked > 200; }},
                          file.get());
  EXPECT_TRUE(absl::IsDeadlineExceeded(copied)) << copied;
  EXPECT_EQ(copied.message(), "a slow device");
}

TEST_F(ExecutorProcessTest, AnAccountOfAnyLengthEndsTheProcess) {
  Start("long account");
  EXPECT_TRUE(absl::StrContains(AwaitEnd(), "account of")) << end_;
}

TEST_F(ExecutorProcessTest, ADescriptionOfAnyLengthEndsTheProcess) {
  Start("long description");
  EXPECT_TRUE(absl::StrContains(AwaitEnd(), "description of itself of"))
      << end_;
}

TEST_F(ExecutorProcessTest, ChunksAreOnDevicesThatExistAndHaveADescriptor) {
  Start("chunk on no device");
  EXPECT_TRUE(absl::StrContains(AwaitEnd(), "does not exist")) << end_;
  EXPECT_EQ(memory_.Free(4'000'000'000), std::nullopt);
}

TEST_F(ExecutorProcessTest, ChunksAreOnDevicesOfTheSession) {
  Start("chunk on another device");
  EXPECT_TRUE(absl::StrContains(AwaitEnd(), "session is on 0")) << end_;
}

TEST_F(ExecutorProcessTest, NoMemoryIsReservedOfDevicesOfOthers) {
  Start("memory of another device");
  EXPECT_TRUE(absl::StrContains(AwaitEnd(), "session is on 0")) << end_;
  EXPECT_EQ(ledger_.devices().at(1).used, 0u);
}

TEST_F(ExecutorProcessTest, AChunkWithoutADescriptorEndsTheProcess) {
  Start("chunk without a descriptor");
  EXPECT_TRUE(absl::StrContains(AwaitEnd(), "without a descriptor")) << end_;
}

TEST_F(ExecutorProcessTest, AnAnswerToNoQuestionEndsTheProcess) {
  Start("answer to nothing");
  EXPECT_TRUE(absl::StrContains(AwaitEnd(), "question 1000000, which")) << end_;
}

TEST_F(ExecutorProcessTest, ASecondAnswerEndsTheProcess) {
  Start("second answer");
  EXPECT_TRUE(absl::StrContains(AwaitEnd(), "question 1, which")) << end_;
}

TEST_F(ExecutorProcessTest, ASecondDescriptionEndsTheProcess) {
  Start("second description");
  EXPECT_TRUE(absl::StrContains(AwaitEnd(), "question 0, which")) << end_;
}

TEST_F(ExecutorProcessTest, AnAnswerOfAnotherKindEndsTheProcessAndTheWait) {
  Start("another answer");
  const absl::Status parked = process_->Park(absl::Now() + kHang);
  EXPECT_TRUE(absl::IsUnavailable(parked)) << parked;
  EXPECT_TRUE(absl::StrContains(AwaitEnd(), "question 2, which")) << end_;
  EXPECT_EQ(parked, end_);
}

TEST_F(ExecutorProcessTest, TextsOfAFaultAreCut) {
  Start("long fault");
  AwaitEnd();
  const auto fault = process_->fault();
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->kernel().size(), kMaxFaultText);
  EXPECT_EQ(fault->error().message().size(), kMaxFaultText);
}

// An executor that restores a session says what it lets go of, as often as it
// likes.
TEST_F(ExecutorProcessTest, ReleasesThatArePutOffAreBoundedByWhatIsHeld) {
  SessionHoldings holdings(
      {store_, ledger_, exports_, collections_, memory_, kept_});
  internal::Assign assign;
  assign.set_session_id("s-1");
  ASSERT_OK(holdings.Open(
      assign, std::make_shared<Tenant>(Tenant::Options{.name = "uid 1"})));
  ASSERT_OK(holdings.arenas().Hold(5, 4096, UniqueFd(dup(STDERR_FILENO))));
  ASSERT_OK(holdings.BeginRestore(2));
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (uint64_t i = 0; i < 1000; ++i) {
      holdings.ReleaseChunk(i);
      holdings.ReleaseImport(i);
      holdings.ReleaseArena(i);
    }
  }
  EXPECT_EQ(holdings.postponed(), 1u);
}

TEST_F(ExecutorProcessTest, SavedVariablesAreChargedToHostMemory) {
  SessionHoldings holdings(
      {store_, ledger_, exports_, collections_, memory_, kept_});
  internal::Assign assign;
  assign.set_session_id("s-1");
  ASSERT_OK(holdings.Open(
      assign, std::make_shared<Tenant>(Tenant::Options{.name = "uid 1"})));
  const auto hold = [&holdings](size_t bytes) {
    return holdings.variables().Hold(
        *CreateSealedMemfd("variables", std::string(bytes, 'v')));
  };
  ASSERT_OK(hold(700'000));
  EXPECT_EQ(ledger_.host()->used(), 700'000u);
  // In the place of those before.
  ASSERT_OK(hold(600'000));
  EXPECT_EQ(ledger_.host()->used(), 600'000u);
  EXPECT_TRUE(absl::IsResourceExhausted(hold(2 << 20)));
  EXPECT_EQ(ledger_.host()->used(), 0u);
  ASSERT_OK(hold(4096));
  holdings.NoteBusy();
  EXPECT_EQ(ledger_.host()->used(), 0u);
}

}  // namespace
}  // namespace holdfast::supervisor

int main(int argc, char** argv) {
  if (argc == 2 &&
      absl::StartsWith(argv[1], holdfast::supervisor::kBehaviour)) {
    holdfast::supervisor::Behave(argv[1] +
                                 std::strlen(holdfast::supervisor::kBehaviour));
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
