// SPDX-License-Identifier: Apache-2.0
#include "server/executor/link/supervisor_link.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <utility>

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

}  // namespace
}  // namespace holdfast::executor
