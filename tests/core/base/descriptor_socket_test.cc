// SPDX-License-Identifier: Apache-2.0
#include "core/base/descriptor_socket.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "core/base/unique_fd.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

using ::holdfast::testing::StatusIs;

// An executor that takes one message and gives `answer`; nullopt: closes the
// connection without an answer.
class FakeExecutor {
 public:
  explicit FakeExecutor(std::optional<std::string> answer) {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    socket_.Reset(socket(AF_UNIX, SOCK_SEQPACKET, 0));
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address),
              0);
    EXPECT_EQ(listen(socket_.get(), 1), 0);
    thread_ = std::thread([this, answer = std::move(answer)] {
      const UniqueFd connection(accept(socket_.get(), nullptr, nullptr));
      char message[64];
      EXPECT_EQ(recv(connection.get(), message, sizeof message, 0), 32);
      if (!answer.has_value()) return;
      send(connection.get(), answer->data(), answer->size(), MSG_NOSIGNAL);
    });
  }
  ~FakeExecutor() {
    thread_.join();
    unlink(path().c_str());
    rmdir(directory_.c_str());
  }

  std::string path() const { return directory_ + "/s"; }
  absl::StatusOr<std::string> Send() const {
    return SendFd(path(), std::string(16, 's'), STDERR_FILENO);
  }

 private:
  std::string directory_ = "/tmp/holdfast-descriptor-XXXXXX";
  UniqueFd socket_;
  std::thread thread_;
};

TEST(DescriptorSocketTest, AZeroByteIsTheAnswerToADescriptorThatWasTaken) {
  const FakeExecutor executor(std::string(1, '\0'));
  const auto token = executor.Send();
  ASSERT_OK(token.status());
  EXPECT_EQ(token->size(), 16u);
}

TEST(DescriptorSocketTest, ATextIsTheReasonOfARefusal) {
  const FakeExecutor executor("too many descriptors");
  EXPECT_THAT(executor.Send().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "did not take a descriptor: too many descriptors"));
}

TEST(DescriptorSocketTest, AnEndWithoutAnAnswerIsNoRefusal) {
  const FakeExecutor executor(std::nullopt);
  EXPECT_THAT(executor.Send().status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "closed the connection without an answer"));
}

}  // namespace
}  // namespace holdfast
