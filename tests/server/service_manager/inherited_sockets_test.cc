// SPDX-License-Identifier: Apache-2.0
#include "server/service_manager/inherited_sockets.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace holdfast {
namespace {

// Beyond the descriptors that the test has already.
constexpr int kFirst = 60;

class InheritedSocketsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/holdfast-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  ~InheritedSocketsTest() override {
    for (int fd = kFirst; fd < kFirst + 2; ++fd) close(fd);
    std::filesystem::remove_all(directory_);
  }

  // Makes a socket at descriptor `fd`, bound to `name` in the directory.
  std::string Bind(int fd, int type, const std::string& name) {
    const std::string path = directory_ + "/" + name;
    sockaddr_un address = {.sun_family = AF_UNIX};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    const UniqueFd made(socket(AF_UNIX, type, 0));
    EXPECT_EQ(bind(made.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address),
              0);
    EXPECT_EQ(dup2(made.get(), fd), fd);
    return path;
  }

  std::string Listen(int fd, const std::string& name) {
    const std::string path = Bind(fd, SOCK_STREAM, name);
    EXPECT_EQ(listen(fd, 1), 0);
    return path;
  }

  static void Announce(int count, pid_t pid = getpid()) {
    setenv("LISTEN_FDS", std::to_string(count).c_str(), 1);
    setenv("LISTEN_PID", std::to_string(pid).c_str(), 1);
  }

  std::string directory_;
};

TEST_F(InheritedSocketsTest, AreKeptByTheirPathAndClosedOnExecution) {
  const std::string first = Listen(kFirst, "first");
  const std::string second = Listen(kFirst + 1, "second");
  Announce(2);
  const auto inherited = TakeInheritedDescriptors(kFirst);
  ASSERT_TRUE(inherited.ok()) << inherited.status();
  ASSERT_EQ(inherited->sockets.size(), 2u);
  EXPECT_EQ(inherited->sockets.at(first).get(), kFirst);
  EXPECT_EQ(inherited->sockets.at(second).get(), kFirst + 1);
  EXPECT_EQ(fcntl(kFirst, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(getenv("LISTEN_FDS"), nullptr);
}

TEST_F(InheritedSocketsTest, OfAnotherProcessAreLeftAlone) {
  Listen(kFirst, "socket");
  Announce(1, getppid());
  const auto inherited = TakeInheritedDescriptors(kFirst);
  ASSERT_TRUE(inherited.ok()) << inherited.status();
  EXPECT_TRUE(inherited->sockets.empty());
  EXPECT_NE(fcntl(kFirst, F_GETFD), -1);
}

TEST_F(InheritedSocketsTest, OfAnEarlierDaemonAreToldByTheirNames) {
  const std::string path = Listen(kFirst, "socket");
  Bind(kFirst + 1, SOCK_DGRAM, "kept");
  Announce(2);
  setenv("LISTEN_FDNAMES", "holdfastd.socket:hf.calls.7", 1);
  const auto inherited = TakeInheritedDescriptors(kFirst);
  ASSERT_TRUE(inherited.ok()) << inherited.status();
  EXPECT_EQ(inherited->sockets.at(path).get(), kFirst);
  ASSERT_EQ(inherited->kept.size(), 1u);
  EXPECT_EQ(inherited->kept[0].first, "hf.calls.7");
  EXPECT_EQ(inherited->kept[0].second.get(), kFirst + 1);
  EXPECT_EQ(getenv("LISTEN_FDNAMES"), nullptr);
}

TEST_F(InheritedSocketsTest, ThatDoNotListenAreRefused) {
  Bind(kFirst, SOCK_STREAM, "socket");
  Announce(1);
  EXPECT_EQ(TakeInheritedDescriptors(kFirst).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(InheritedSocketsTest, OfDatagramsAreRefused) {
  Bind(kFirst, SOCK_DGRAM, "socket");
  Announce(1);
  EXPECT_EQ(TakeInheritedDescriptors(kFirst).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(InheritedSocketsTest, DescriptorsThatAreNotThereAreRefused) {
  Announce(1);
  EXPECT_EQ(TakeInheritedDescriptors(kFirst).status().code(),
            absl::StatusCode::kInvalidArgument);
  Announce(1 << 30);
  EXPECT_EQ(TakeInheritedDescriptors(kFirst).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace holdfast
