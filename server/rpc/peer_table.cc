// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/peer_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace holdfast {
namespace {

constexpr absl::string_view kLocalPrefix = "fd:";

std::string UnixClient(const ucred& peer) {
  return absl::StrCat("uid ", peer.uid);
}

// "[2001:db8::7]:50122" -> "2001:db8::/64"; an IPv4 address in IPv6's clothes
// is that IPv4 address. Empty: it is no IPv6 address.
std::string Ipv6Client(absl::string_view address) {
  const size_t end = address.rfind(']');
  if (!absl::StartsWith(address, "[") || end == absl::string_view::npos) {
    return "";
  }
  std::string host(address.substr(1, end - 1));
  host = host.substr(0, host.find('%'));  // a link's name
  in6_addr bytes = {};
  if (inet_pton(AF_INET6, host.c_str(), &bytes) != 1) return "";
  char text[INET6_ADDRSTRLEN] = {};
  if (IN6_IS_ADDR_V4MAPPED(&bytes)) {
    return inet_ntop(AF_INET, &bytes.s6_addr[12], text, sizeof text);
  }
  memset(&bytes.s6_addr[8], 0, 8);
  return absl::StrCat(inet_ntop(AF_INET6, &bytes, text, sizeof text), "/64");
}

}  // namespace

std::string PeerTable::Add(int fd) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    peer.uid = static_cast<uid_t>(-1);
  }
  absl::MutexLock lock(&mutex_);
  peers_[absl::StrCat(kLocalPrefix, fd)] = peer;
  return UnixClient(peer);
}

std::string PeerTable::Describe(absl::string_view peer) const {
  if (!IsLocal(peer)) {
    // gRPC says "ipv4:10.0.0.7:50122", brackets escaped as in a URI.
    const size_t colon = peer.find(':');
    return absl::StrCat("tcp ", colon == absl::string_view::npos
                                    ? peer
                                    : peer.substr(colon + 1));
  }
  absl::MutexLock lock(&mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return "unix";
  return absl::StrCat("unix uid=", found->second.uid,
                      " pid=", found->second.pid);
}

std::string PeerTable::ClientOf(const grpc::ServerContextBase& context) const {
  const std::string peer = context.peer();
  if (IsLocal(peer)) return ClientOfPeer(peer);
  const auto authenticated = context.auth_context();
  if (authenticated != nullptr && authenticated->IsPeerAuthenticated()) {
    const auto names = authenticated->GetPeerIdentity();
    if (!names.empty()) {
      return absl::StrCat("certificate ",
                          absl::string_view(names[0].data(), names[0].size()));
    }
  }
  return ClientOfPeer(peer);
}

std::string PeerTable::ClientOfPeer(absl::string_view peer) const {
  if (IsLocal(peer)) {
    absl::MutexLock lock(&mutex_);
    const auto found = peers_.find(peer);
    return found == peers_.end() ? "unix" : UnixClient(found->second);
  }
  const size_t scheme = peer.find(':');
  if (scheme == absl::string_view::npos) return absl::StrCat("ip ", peer);
  const std::string address = absl::StrReplaceAll(
      peer.substr(scheme + 1), {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  const std::string ipv6 = Ipv6Client(address);
  if (!ipv6.empty()) return absl::StrCat("ip ", ipv6);
  return absl::StrCat("ip ", address.substr(0, address.rfind(':')));
}

bool PeerTable::IsOwner(absl::string_view peer) const {
  absl::MutexLock lock(&mutex_);
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return false;
  return found->second.uid == geteuid() || found->second.uid == 0;
}

bool PeerTable::IsLocal(absl::string_view peer) {
  return absl::StartsWith(peer, kLocalPrefix);
}

}  // namespace holdfast
