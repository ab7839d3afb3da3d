// SPDX-License-Identifier: Apache-2.0
//
// The daemon's clock is set, as by NTP or when a virtual machine is resumed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/session.h"
#include "tests/e2e/daemon_process.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::e2e {
namespace {

class ClockTest : public ::testing::Test {
 protected:
  ClockTest() {
    const std::string file =
        absl::StrCat("/tmp/holdfast-clock-", getpid(), ".shift");
    const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    EXPECT_EQ(ftruncate(fd, sizeof(int64_t)), 0);
    shift_ = static_cast<std::atomic<int64_t>*>(
        mmap(nullptr, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
             /*offset=*/0));
    close(fd);
    setenv("LD_PRELOAD", ProgramPath("CLOCK_SHIFT").c_str(), 1);
    setenv("HOLDFAST_CLOCK_SHIFT", file.c_str(), 1);
    daemon_ = std::make_unique<DaemonProcess>();
    unsetenv("LD_PRELOAD");
    unlink(file.c_str());
  }

  // A client that comes after the clock was set is counted as one that was
  // there before: both are of one user.
  void ExpectSessionLives(int64_t seconds) {
    auto session = Session::Open({.address = daemon_->address()});
    ASSERT_TRUE(session.ok()) << session.status();
    *shift_ = seconds;
    EXPECT_OK(Session::Open({.address = daemon_->address()}).status());
    EXPECT_OK((*session)->Synchronize());
  }

  std::atomic<int64_t>* shift_ = nullptr;
  std::unique_ptr<DaemonProcess> daemon_;
};

TEST_F(ClockTest, ASessionOutlivesAClockThatIsSetBack) {
  ExpectSessionLives(-24 * 3600);
}

TEST_F(ClockTest, ASessionOutlivesAClockThatIsSetForward) {
  ExpectSessionLives(24 * 3600);
}

}  // namespace
}  // namespace holdfast::e2e
