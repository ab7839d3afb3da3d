// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/stream_counts.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

constexpr absl::Duration kSettle = ChannelzSockets::kSettle;

// A server that is handed connections.
class StreamCountsTest : public testing::Test {
 protected:
  StreamCountsTest() {
    grpc::ServerBuilder builder;
    completions_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
  }
  ~StreamCountsTest() override {
    clients_.clear();
    server_->Shutdown(std::chrono::system_clock::now());
    completions_->Shutdown();
    void* tag;
    bool ok;
    while (completions_->Next(&tag, &ok)) {
    }
  }

  // Returns its name.
  std::string Connect() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    clients_.emplace_back(ends[0]);
    grpc::AddInsecureChannelFromFd(server_.get(), ends[1]);
    return absl::StrCat("fd:", ends[1]);
  }

  std::unique_ptr<grpc::ServerCompletionQueue> completions_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<UniqueFd> clients_;
  ChannelzSockets sockets_;
};

TEST_F(StreamCountsTest, ASocketIsFoundOnceItIsOldEnough) {
  const absl::Time start = absl::Now();
  const std::string first = Connect();
  EXPECT_TRUE(sockets_.Discover(start).empty());
  const std::string second = Connect();
  EXPECT_TRUE(
      sockets_.Discover(start + kSettle - absl::Milliseconds(1)).empty());
  auto found = sockets_.Discover(start + kSettle);
  EXPECT_EQ(found.size(), 1u);
  ASSERT_EQ(found.count(first), 1u);
  EXPECT_TRUE(ReadStreamCounts(found[first]).has_value());
  // The second is told by the mark of that call, each once.
  found = sockets_.Discover(start + 2 * kSettle);
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(found.count(second), 1u);
  EXPECT_TRUE(sockets_.Discover(start + 3 * kSettle).empty());
}

// To ask about a socket that is being made is a call through a null pointer.
TEST_F(StreamCountsTest, SocketsThatAreBeingMadeAreLeftAlone) {
  constexpr size_t kConnections = 400;
  std::vector<std::string> names;
  std::thread connecting([&] {
    for (size_t i = 0; i < kConnections; ++i) names.push_back(Connect());
  });
  std::map<std::string, int64_t> found;
  while (found.size() < kConnections)
    found.merge(sockets_.Discover(absl::Now()));
  connecting.join();
  for (const std::string& name : names) EXPECT_EQ(found.count(name), 1u);
}

}  // namespace
}  // namespace holdfast
