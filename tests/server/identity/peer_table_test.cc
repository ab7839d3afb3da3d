// SPDX-License-Identifier: Apache-2.0
#include "server/identity/peer_table.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

std::string NameOfPeer(const PeerTable& peers, const std::string& peer) {
  return NameOf(peers.IdentityOfPeer(peer));
}

TEST(PeerTableTest, ConnectionsOfOneAddressAreOneClient) {
  const PeerTable peers;
  EXPECT_EQ(NameOfPeer(peers, "ipv4:10.0.0.7:50122"), "ip 10.0.0.7");
  EXPECT_EQ(NameOfPeer(peers, "ipv4:10.0.0.7:1"), "ip 10.0.0.7");
  EXPECT_EQ(NameOfPeer(peers, "ipv6:%5B::ffff:10.0.0.7%5D:1"), "ip 10.0.0.7");
}

TEST(PeerTableTest, ANetworkOfIpv6IsOneClient) {
  const PeerTable peers;
  const auto client = NameOfPeer(peers, "ipv6:%5B2001:db8:1:2::7%5D:50122");
  EXPECT_EQ(client, "ip 2001:db8:1:2::/64");
  EXPECT_EQ(NameOfPeer(peers, "ipv6:[2001:db8:1:2:ffff::1]:9"), client);
  EXPECT_NE(NameOfPeer(peers, "ipv6:[2001:db8:1:3::7]:9"), client);
  EXPECT_EQ(NameOfPeer(peers, "ipv6:%5Bfe80::1%252%5D:9"), "ip fe80::/64");
}

TEST(PeerTableTest, ProcessesOfOneUserAreOneClient) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  PeerTable peers;
  const std::string user = absl::StrCat("uid ", geteuid());
  EXPECT_EQ(peers.Add(ends[0]), user);
  EXPECT_EQ(NameOfPeer(peers, absl::StrCat("fd:", ends[0])), user);
  const Identity identity = peers.IdentityOfPeer(absl::StrCat("fd:", ends[0]));
  const auto& known = std::get<UserIdentity>(identity);
  EXPECT_EQ(known.uid, geteuid());
  EXPECT_EQ(known.gid, getegid());
  std::vector<gid_t> groups(static_cast<size_t>(getgroups(0, nullptr)));
  ASSERT_EQ(getgroups(static_cast<int>(groups.size()), groups.data()),
            static_cast<int>(groups.size()));
  EXPECT_EQ(known.groups, groups);
  close(ends[0]);
  close(ends[1]);
}

TEST(PeerTableTest, AConnectionThatNobodyAddedIsNoUserThatThereIs) {
  const PeerTable peers;
  const Identity identity = peers.IdentityOfPeer("fd:17");
  EXPECT_EQ(std::get<UserIdentity>(identity).uid, static_cast<uid_t>(-1));
}

}  // namespace
}  // namespace holdfast
