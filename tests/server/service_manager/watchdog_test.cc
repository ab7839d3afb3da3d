// SPDX-License-Identifier: Apache-2.0
#include "server/service_manager/watchdog.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "absl/synchronization/notification.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

// The service manager's end of $NOTIFY_SOCKET.
class WatchdogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/holdfast-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    const std::string path = directory_ + "/notify";
    sockaddr_un address = {.sun_family = AF_UNIX};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    socket_.Reset(socket(AF_UNIX, SOCK_DGRAM, 0));
    ASSERT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address),
              0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~WatchdogTest() override { std::filesystem::remove_all(directory_); }

  std::string Receive(int flags = 0) {
    char message[64] = {};
    const ssize_t bytes = recv(socket_.get(), message, sizeof message, flags);
    return bytes < 0 ? "" : std::string(message, bytes);
  }

  std::string directory_;
  UniqueFd socket_;
};

TEST_F(WatchdogTest, ADaemonThatHangsGivesNoSignOfLife) {
  absl::Notification asked;
  absl::Notification answer;
  Watchdog watchdog(absl::ZeroDuration(), [&] {
    if (!asked.HasBeenNotified()) asked.Notify();
    answer.WaitForNotification();
  });
  asked.WaitForNotification();
  EXPECT_EQ(Receive(MSG_DONTWAIT), "");
  answer.Notify();
  EXPECT_EQ(Receive(), "WATCHDOG=1");
}

TEST_F(WatchdogTest, GivesSignsOfLifeAgainAndAgain) {
  Watchdog watchdog(absl::Milliseconds(1), [] {});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Receive(), "WATCHDOG=1");
}

TEST_F(WatchdogTest, IsSilentWhereNobodyWatches) {
  std::atomic<bool> asked = false;
  {
    Watchdog watchdog(absl::InfiniteDuration(), [&] { asked = true; });
  }
  EXPECT_FALSE(asked);
  EXPECT_EQ(Receive(MSG_DONTWAIT), "");
}

TEST_F(WatchdogTest, TheIntervalIsHalfOfTheLimitOfThisProcess) {
  setenv("WATCHDOG_USEC", "3000000", 1);
  EXPECT_EQ(Watchdog::Interval(), absl::Milliseconds(1500));
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(Watchdog::Interval(), absl::Milliseconds(1500));
  setenv("WATCHDOG_PID", std::to_string(getppid()).c_str(), 1);
  EXPECT_EQ(Watchdog::Interval(), absl::InfiniteDuration());
  setenv("WATCHDOG_PID", "", 1);
  setenv("WATCHDOG_USEC", "soon", 1);
  EXPECT_EQ(Watchdog::Interval(), absl::InfiniteDuration());
}

}  // namespace
}  // namespace holdfast
