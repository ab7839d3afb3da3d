// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/channel.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/connection/address.h"
#include "core/base/unique_fd.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_posix.h"
#include "gtest/gtest.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "server/rpc/unix_socket.h"

namespace holdfast {
namespace {

// A daemon that makes way: it takes so many connections without serving them.
// The next ones are served.
class LeavingDaemon {
 public:
  explicit LeavingDaemon(int unserved) : unserved_(unserved) {
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    socket_ = *ListenOnUnixSocket(path(), SOCK_STREAM, 0600);
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&nothing_);
    server_ = builder.BuildAndStart();
    accepting_ = std::thread([this] { Accept(); });
  }
  ~LeavingDaemon() {
    shutdown(socket_.get(), SHUT_RDWR);
    accepting_.join();
    server_->Shutdown();
    unlink(path().c_str());
    rmdir(directory_.c_str());
  }

  std::string path() const { return directory_ + "/s"; }
  Address address() const { return *Address::Parse("unix:" + path()); }
  int taken() const { return taken_; }

 private:
  void Accept() {
    for (;;) {
      UniqueFd connection(accept(socket_.get(), nullptr, nullptr));
      if (!connection.valid()) return;
      if (++taken_ <= unserved_) continue;
      fcntl(connection.get(), F_SETFL, O_NONBLOCK);
      grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
    }
  }

  const int unserved_;
  std::string directory_ = "/tmp/holdfast-channel-XXXXXX";
  UniqueFd socket_;
  grpc::CallbackGenericService nothing_;
  std::unique_ptr<grpc::Server> server_;
  std::atomic<int> taken_{0};
  std::thread accepting_;
};

constexpr absl::Duration kTimeout = absl::Seconds(20);

TEST(ChannelTest, AConnectionThatALeavingDaemonTookIsMadeAgain) {
  const LeavingDaemon daemon(1);
  EXPECT_EQ(ConnectToDaemon(daemon.address(), kTimeout, "").status(),
            absl::OkStatus());
  EXPECT_EQ(daemon.taken(), 2);
}

TEST(ChannelTest, ADaemonThatServesNobodyIsNotAskedForEver) {
  const LeavingDaemon daemon(1000);
  const absl::Status status =
      ConnectToDaemon(daemon.address(), kTimeout, "").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_EQ(daemon.taken(), 2);
}

grpc::StatusCode Call(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  v1::ListSessionsResponse response;
  return v1::SessionService::NewStub(channel)
      ->ListSessions(&context, {}, &response)
      .error_code();
}

TEST(ChannelTest, OneConnectionServesCalls) {
  const LeavingDaemon daemon(0);
  const auto channel = ConnectOnce(daemon.path(), kTimeout);
  ASSERT_EQ(channel.status(), absl::OkStatus());
  EXPECT_EQ(Call(*channel), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(Call(*channel), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(daemon.taken(), 1);
}

TEST(ChannelTest, OneConnectionIsNotMadeAgain) {
  const LeavingDaemon daemon(1);
  const auto channel = ConnectOnce(daemon.path(), kTimeout);
  ASSERT_EQ(channel.status(), absl::OkStatus());
  EXPECT_EQ(Call(*channel), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Call(*channel), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(daemon.taken(), 1);
}

TEST(ChannelTest, OneConnectionToNobodyFailsAtOnce) {
  const absl::Status status =
      ConnectOnce("/tmp/holdfast-nobody/s", kTimeout).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

}  // namespace
}  // namespace holdfast
