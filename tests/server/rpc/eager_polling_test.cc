// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/eager_polling.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/sanitizer.h"
#include "core/base/spin.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

// epoll_wait is the program's own, for gRPC as for this test.
class EagerPollingTest : public ::testing::Test {
 protected:
  EagerPollingTest() {
    epoll_event event = {.events = EPOLLIN, .data = {.u64 = 7}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, ready_.get(), &event);
  }

  int Wait(int timeout_ms) {
    epoll_event event = {};
    const int count = epoll_wait(epoll_.get(), &event, 1, timeout_ms);
    if (count == 1) {
      EXPECT_EQ(event.data.u64, 7u);
    }
    return count;
  }
  void SetReady() { eventfd_write(ready_.get(), 1); }

  const UniqueFd epoll_{epoll_create1(EPOLL_CLOEXEC)};
  const UniqueFd ready_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

TEST_F(EagerPollingTest, FindsWhatIsReadyWhetherItLooksFirstOrNot) {
  SetReady();
  EXPECT_EQ(Wait(0), 1);
  EXPECT_EQ(Wait(-1), 1);
  PollEagerly();
  EXPECT_EQ(Wait(0), 1);
  EXPECT_EQ(Wait(1000), 1);
  EXPECT_EQ(Wait(-1), 1);
}

TEST_F(EagerPollingTest, EndsWithItsTimeout) {
  EXPECT_EQ(Wait(0), 0);
  PollEagerly();
  const absl::Time begin = absl::Now();
  EXPECT_EQ(Wait(5), 0);
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(4));
}

TEST_F(EagerPollingTest, SaysWhatIsWrong) {
  PollEagerly();
  epoll_event event = {};
  EXPECT_EQ(epoll_wait(-1, &event, 1, 100), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST_F(EagerPollingTest, LooksOnlyAfterItWasAskedTo) {
#ifdef HOLDFAST_TSAN
  GTEST_SKIP() << "ThreadSanitizer's epoll_wait is in use";
#endif
  const uint64_t before = EagerPolls();
  absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(Wait(1), 0);
  EXPECT_EQ(EagerPolls(), before);
  PollEagerly();
  EXPECT_EQ(Wait(1), 0);
  if (!MaySpin()) {
    EXPECT_EQ(EagerPolls(), before);
    GTEST_SKIP() << "nobody polls eagerly with fewer than " << kSpinProcessors
                 << " processors";
  }
  EXPECT_GT(EagerPolls(), before);
}

}  // namespace
}  // namespace holdfast
