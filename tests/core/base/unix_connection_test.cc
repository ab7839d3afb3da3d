// SPDX-License-Identifier: Apache-2.0
#include "core/base/unix_connection.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace holdfast {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLimit = absl::Milliseconds(50);

// A socket that listens, with room for a few connections.
class Listener {
 public:
  explicit Listener(int type) {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    socket_.Reset(socket(AF_UNIX, type, 0));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address),
              0);
    EXPECT_EQ(listen(socket_.get(), 1), 0);
  }
  ~Listener() {
    unlink(path().c_str());
    rmdir(directory_.c_str());
  }

  std::string path() const { return directory_ + "/s"; }
  int socket_fd() const { return socket_.get(); }

 private:
  std::string directory_ = "/tmp/holdfast-connection-XXXXXX";
  UniqueFd socket_;
};

TEST(UnixConnectionTest, BytesArriveBeforeAnybodyAccepts) {
  const Listener listener(SOCK_STREAM);
  const auto connection =
      ConnectToUnixSocket(listener.path(), SOCK_STREAM, kLimit);
  ASSERT_EQ(connection.status(), absl::OkStatus());
  ASSERT_EQ(send(connection->get(), "abc", 3, 0), 3);
  const UniqueFd accepted(accept(listener.socket_fd(), nullptr, nullptr));
  char bytes[4] = {};
  ASSERT_EQ(recv(accepted.get(), bytes, sizeof bytes, 0), 3);
  EXPECT_STREQ(bytes, "abc");
}

TEST(UnixConnectionTest, WhoNeverAnswersIsNotAwaitedForEver) {
  const Listener listener(SOCK_SEQPACKET);
  const auto connection =
      ConnectToUnixSocket(listener.path(), SOCK_SEQPACKET, kLimit);
  ASSERT_EQ(connection.status(), absl::OkStatus());
  char byte = 0;
  EXPECT_EQ(recv(connection->get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(UnixConnectionTest, AListenerWithoutRoomIsNotAwaitedForEver) {
  const Listener listener(SOCK_STREAM);
  std::vector<UniqueFd> connections;
  absl::Status status;
  while (status.ok() && connections.size() < 8) {
    auto connection = ConnectToUnixSocket(listener.path(), SOCK_STREAM, kLimit);
    status = connection.status();
    if (status.ok()) connections.push_back(*std::move(connection));
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

TEST(UnixConnectionTest, SaysWhereNobodyIs) {
  const absl::Status status =
      ConnectToUnixSocket("/tmp/holdfast-nobody/s", SOCK_STREAM, kLimit)
          .status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("/tmp/holdfast-nobody/s"));
}

TEST(UnixConnectionTest, APathThatNoSocketCanHaveIsRefused) {
  const absl::Status status =
      ConnectToUnixSocket("/tmp/" + std::string(200, 'x'), SOCK_STREAM, kLimit)
          .status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

}  // namespace
}  // namespace holdfast
