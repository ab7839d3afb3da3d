// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/kept_sockets.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "server/kept/descriptor_store.h"
#include "server/rpc/endpoint.h"
#include "server/rpc/tcp_listener.h"
#include "tests/testing/status_matchers.h"

namespace holdfast {
namespace {

Endpoint Loopback(uint16_t port) {
  return {.kind = Endpoint::Kind::kTcp, .host = "127.0.0.1", .port = port};
}

TEST(KeptSocketsTest, ASocketKeepsItsNameAndNewOnesGetOthers) {
  ASSERT_OK_AND_ASSIGN(const auto first, TcpListener::Listen(Loopback(0)));
  ASSERT_OK_AND_ASSIGN(const auto second, TcpListener::Listen(Loopback(0)));
  const uint16_t port = second->port();
  std::vector<KeptDescriptor> left;
  uint64_t number = 4;
  for (const auto* listener : {first.get(), second.get()}) {
    left.push_back({.name = {"listener", {number++}},
                    .fd = UniqueFd(dup(listener->sockets()[0].get()))});
  }
  KeptSockets kept(std::move(left));
  // The second socket alone is served by the next daemon, and another one.
  ASSERT_OK_AND_ASSIGN(const auto taken,
                       TcpListener::Listen(Loopback(port), &kept));
  ASSERT_OK_AND_ASSIGN(const auto made,
                       TcpListener::Listen(Loopback(0), nullptr));
  const auto name_of = [&](const TcpListener& listener) {
    return kept.NameOf(listener.sockets()[0].get(), "listener").ToString();
  };
  EXPECT_EQ(name_of(*taken), "hf.listener.5");
  EXPECT_EQ(name_of(*made), "hf.listener.6");
}

}  // namespace
}  // namespace holdfast
