// SPDX-License-Identifier: Apache-2.0
//
// The daemon's clock is set, as by NTP or when a virtual machine is resumed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/session.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/compile.pb.h"
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

// As systemd with WatchdogSec=1, for the daemons that start while this exists.
class ServiceManager {
 protected:
  ServiceManager() : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {.sun_family = AF_UNIX};
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address),
              0);
    const timeval limit = {.tv_sec = 10};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    setenv("WATCHDOG_USEC", "1000000", 1);
  }
  ~ServiceManager() {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unlink(path_.c_str());
  }

  bool HearsSignOfLife() {
    char message[256];
    while (true) {
      const ssize_t bytes = recv(socket_.get(), message, sizeof message, 0);
      if (bytes < 0) return false;
      if (std::string(message, bytes) == "WATCHDOG=1") return true;
    }
  }
  void ForgetSigns() {
    char message[256];
    while (recv(socket_.get(), message, sizeof message, MSG_DONTWAIT) >= 0) {
    }
  }

 private:
  const std::string path_ = absl::StrCat("/tmp/holdfast-clock-", getpid());
  const UniqueFd socket_;
};

class WatchedClockTest : private ServiceManager, public ClockTest {
 protected:
  void ExpectSignsOfLife(int64_t seconds) {
    ASSERT_TRUE(HearsSignOfLife());
    *shift_ = seconds;
    ForgetSigns();
    // The first may have been under way.
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(HearsSignOfLife());
  }
};

TEST_F(WatchedClockTest, GivesSignsOfLifeWhileTheClockIsSetBack) {
  ExpectSignsOfLife(-24 * 3600);
}

TEST_F(WatchedClockTest, GivesSignsOfLifeWhileTheClockIsSetForward) {
  ExpectSignsOfLife(24 * 3600);
}

TEST_F(ClockTest, ASessionOutlivesAClockThatIsSetBack) {
  ExpectSessionLives(-24 * 3600);
}

TEST_F(ClockTest, ASessionOutlivesAClockThatIsSetForward) {
  ExpectSessionLives(24 * 3600);
}

// A compilation of some seconds: absl::Now() notices within two that the clock
// was set.
TEST_F(ClockTest, ACompilationOutlivesAClockThatIsSetForward) {
  std::string source;
  for (int i = 0; i < 250; ++i) {
    absl::StrAppend(&source, "extern \"C\" __global__ void k", i,
                    "(double* x) { *x = pow(*x, ", i,
                    ".5) + sin(*x) + tgamma(*x); }\n");
  }
  auto daemon = Daemon::Connect(daemon_->address());
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  const auto set_clock = [this](const v1::CompileProgress& progress) {
    if (progress.stage() == v1::CompileProgress::STAGE_RUNNING) {
      *shift_ = 24 * 3600;
    }
  };
  EXPECT_OK(Program(source).Compile(**daemon, {}, {}, set_clock).status());
  EXPECT_EQ(*shift_, 24 * 3600);
}

}  // namespace
}  // namespace holdfast::e2e
