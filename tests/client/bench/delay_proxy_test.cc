// SPDX-License-Identifier: Apache-2.0
#include "client/bench/delay_proxy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace holdfast::bench {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Sends back what one client sends, until it ends.
class Echo {
 public:
  Echo() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = Loopback(0);
    bind(listener_.get(), reinterpret_cast<sockaddr*>(&address),
         sizeof address);
    listen(listener_.get(), 1);
    socklen_t size = sizeof address;
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    target_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
    thread_ = std::thread([this] { Serve(); });
  }
  ~Echo() {
    shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  const std::string& target() const { return target_; }

 private:
  void Serve() {
    for (;;) {
      const UniqueFd client(accept(listener_.get(), nullptr, nullptr));
      if (!client.valid()) return;
      char bytes[4096];
      ssize_t size = 0;
      while ((size = recv(client.get(), bytes, sizeof bytes, 0)) > 0) {
        send(client.get(), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
      }
    }
  }

  UniqueFd listener_;
  std::string target_;
  std::thread thread_;
};

UniqueFd ConnectTo(const std::string& target) {
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(target.substr(target.find(':') + 1), &port));
  UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  const sockaddr_in address = Loopback(port);
  EXPECT_EQ(connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
                    sizeof address),
            0);
  return fd;
}

TEST(DelayProxyTest, BytesComeInOrderAndNotBeforeTheirTime) {
  const Echo echo;
  const auto proxy = DelayProxy::Start(echo.target(), absl::Milliseconds(20));
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  const UniqueFd client = ConnectTo((*proxy)->target());
  std::string sent(300'000, ' '), received;
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i % 251);
  const absl::Time start = absl::Now();
  std::thread sender([&] {
    EXPECT_EQ(send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(sent.size()));
  });
  char bytes[4096];
  while (received.size() < sent.size()) {
    const ssize_t size = recv(client.get(), bytes, sizeof bytes, 0);
    ASSERT_GT(size, 0);
    if (received.empty()) {
      EXPECT_GE(absl::Now() - start, absl::Milliseconds(40));
    }
    received.append(bytes, static_cast<size_t>(size));
  }
  sender.join();
  EXPECT_EQ(received, sent);
}

TEST(DelayProxyTest, EndsWithConnectionsOpen) {
  const Echo echo;
  auto proxy = DelayProxy::Start(echo.target(), absl::Milliseconds(1));
  ASSERT_TRUE(proxy.ok()) << proxy.status();
  const UniqueFd client = ConnectTo((*proxy)->target());
  ASSERT_EQ(send(client.get(), "x", 1, MSG_NOSIGNAL), 1);
  char byte = 0;
  ASSERT_EQ(recv(client.get(), &byte, 1, 0), 1);
  proxy->reset();
  EXPECT_LE(recv(client.get(), &byte, 1, 0), 0);
}

TEST(DelayProxyTest, NobodyThereIsAnError) {
  EXPECT_FALSE(DelayProxy::Start("127.0.0.1:1", absl::ZeroDuration()).ok());
}

}  // namespace
}  // namespace holdfast::bench
