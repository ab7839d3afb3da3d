// SPDX-License-Identifier: Apache-2.0
#include "server/executor/link/supervisor_link.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "core/base/memfd.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::executor {
namespace {

using ::holdfast::testing::StatusIs;

// A link whose other end is the test's.
class SupervisorLinkTest : public ::testing::Test {
 protected:
  using Ends = std::pair<UniqueFd, UniqueFd>;

  explicit SupervisorLinkTest(Ends ends = Channel::CreatePair().value())
      : supervisor_(std::move(ends.first)) {
    link_.emplace(std::move(ends.second), [this] {
      stopped_.Notify();
      go_on_.WaitForNotification();
    });
  }

  absl::StatusOr<internal::FromExecutor> Receive() {
    internal::FromExecutor message;
    const auto descriptor = supervisor_.Receive(&message);
    if (!descriptor.ok()) return descriptor.status();
    return message;
  }

  Channel supervisor_;
  absl::Notification stopped_;
  absl::Notification go_on_;
  std::optional<SupervisorLink> link_;
};

TEST_F(SupervisorLinkTest, MemoryMadeBeforeTheFaultIsToldBeforeIt) {
  internal::HostMemoryCreated created;
  created.set_handle(7);
  const UniqueFd memory = CreateSealedMemfd("arena", "bytes").value();
  link_->SendHostMemoryCreated(created, memory.get());
  link_->SendFault(internal::Fault());
  ASSERT_OK_AND_ASSIGN(const auto first, Receive());
  EXPECT_EQ(first.host_memory_created().handle(), 7u);
  ASSERT_OK_AND_ASSIGN(const auto second, Receive());
  EXPECT_TRUE(second.has_fault());
}

// The supervisor has taken what the session holds by then: a journal that names
// the memory would make its successor look for it.
TEST_F(SupervisorLinkTest, AThreadThatTellsOfMemoryAfterTheFaultIsStopped) {
  link_->SendFault(internal::Fault());
  std::thread thread([&] {
    const UniqueFd memory = CreateSealedMemfd("arena", "bytes").value();
    link_->SendHostMemoryCreated(internal::HostMemoryCreated(), memory.get());
  });
  stopped_.WaitForNotification();
  ASSERT_OK_AND_ASSIGN(const auto fault, Receive());
  EXPECT_TRUE(fault.has_fault());
  go_on_.Notify();
  thread.join();
  link_.reset();
  EXPECT_THAT(Receive(), StatusIs(absl::StatusCode::kUnavailable, "closed"));
}

// A refusal would be noted in the journal as the command's failure.
TEST_F(SupervisorLinkTest, AThreadThatAsksForMemoryAfterTheFaultIsStopped) {
  link_->SendFault(internal::Fault());
  std::thread thread([&] {
    EXPECT_THAT(link_->Reserve(internal::MemoryPlace(), 1),
                StatusIs(absl::StatusCode::kUnavailable, "its fault"));
  });
  stopped_.WaitForNotification();
  go_on_.Notify();
  thread.join();
}

// Each has the answer to its own question, in whatever order they come.
TEST_F(SupervisorLinkTest, SeveralThreadsAskAtOnce) {
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 8; ++i) {
    threads.emplace_back([this, i] {
      internal::SharingRequest request;
      request.set_reopen(i);
      ASSERT_OK_AND_ASSIGN(const SharingAnswer answer,
                           link_->AskSharing(request, /*descriptor=*/-1));
      EXPECT_EQ(answer.reply.imported().import(), i);
    });
  }
  std::vector<internal::FromExecutor> questions;
  for (size_t i = 0; i < threads.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(questions.emplace_back(), Receive());
  }
  for (auto question = questions.rbegin(); question != questions.rend();
       ++question) {
    internal::ToExecutor answer;
    answer.set_question(question->question());
    answer.mutable_sharing()->mutable_imported()->set_import(
        question->sharing().reopen());
    ASSERT_OK(supervisor_.Send(answer));
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SupervisorLinkTest, ShutdownEndsEachWait) {
  std::thread thread([this] {
    EXPECT_THAT(link_->FetchObject("s"),
                StatusIs(absl::StatusCode::kUnavailable, "being closed"));
  });
  ASSERT_OK(Receive());
  internal::ToExecutor shutdown;
  shutdown.mutable_shutdown();
  ASSERT_OK(supervisor_.Send(shutdown));
  thread.join();
  EXPECT_THAT(link_->Reserve(internal::MemoryPlace(), 1),
              StatusIs(absl::StatusCode::kUnavailable, "being closed"));
}

}  // namespace
}  // namespace holdfast::executor
