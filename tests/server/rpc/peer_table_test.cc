// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/peer_table.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

TEST(PeerTableTest, ConnectionsOfOneAddressAreOneClient) {
  const PeerTable peers;
  EXPECT_EQ(peers.ClientOfPeer("ipv4:10.0.0.7:50122"), "ip 10.0.0.7");
  EXPECT_EQ(peers.ClientOfPeer("ipv4:10.0.0.7:1"), "ip 10.0.0.7");
  EXPECT_EQ(peers.ClientOfPeer("ipv6:%5B::ffff:10.0.0.7%5D:1"), "ip 10.0.0.7");
}

TEST(PeerTableTest, ANetworkOfIpv6IsOneClient) {
  const PeerTable peers;
  const auto client = peers.ClientOfPeer("ipv6:%5B2001:db8:1:2::7%5D:50122");
  EXPECT_EQ(client, "ip 2001:db8:1:2::/64");
  EXPECT_EQ(peers.ClientOfPeer("ipv6:[2001:db8:1:2:ffff::1]:9"), client);
  EXPECT_NE(peers.ClientOfPeer("ipv6:[2001:db8:1:3::7]:9"), client);
  EXPECT_EQ(peers.ClientOfPeer("ipv6:%5Bfe80::1%252%5D:9"), "ip fe80::/64");
}

TEST(PeerTableTest, ProcessesOfOneUserAreOneClient) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  PeerTable peers;
  const std::string user = absl::StrCat("uid ", geteuid());
  EXPECT_EQ(peers.Add(ends[0]), user);
  EXPECT_EQ(peers.ClientOfPeer(absl::StrCat("fd:", ends[0])), user);
  EXPECT_TRUE(peers.IsOwner(absl::StrCat("fd:", ends[0])));
  EXPECT_FALSE(peers.IsOwner("ipv4:127.0.0.1:5"));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace holdfast
