// SPDX-License-Identifier: Apache-2.0
#include "server/identity/peer_table.h"

#include <arpa/inet.h>
#include <grpc/grpc_security_constants.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace holdfast {
namespace {

constexpr absl::string_view kLocalPrefix = "fd:";

// Groups of the process at the other end; empty where the kernel does not tell.
std::vector<gid_t> GroupsOf(int fd) {
  constexpr size_t kMaxGroups = 65536;
  std::vector<gid_t> groups(32);
  while (true) {
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) == 0) {
      groups.resize(size / sizeof(gid_t));
      return groups;
    }
    if (errno != ERANGE || groups.size() >= kMaxGroups) return {};
    groups.resize(2 * groups.size());
  }
}

std::vector<std::string> Properties(const grpc::AuthContext& context,
                                    const char* name) {
  std::vector<std::string> values;
  for (const grpc::string_ref& value : context.FindPropertyValues(name)) {
    values.emplace_back(value.data(), value.size());
  }
  return values;
}

std::string Property(const grpc::AuthContext& context, const char* name) {
  const std::vector<std::string> values = Properties(context, name);
  return values.empty() ? "" : values[0];
}

CertificateIdentity CertificateOf(const grpc::AuthContext& context) {
  return {
      .subject = Property(context, GRPC_X509_SUBJECT_PROPERTY_NAME),
      .common_name = Property(context, GRPC_X509_CN_PROPERTY_NAME),
      .alternative_names = Properties(context, GRPC_X509_SAN_PROPERTY_NAME)};
}

// "[2001:db8::7]:50122" -> "2001:db8::/64"; an IPv4 address in IPv6's clothes
// is that IPv4 address. Empty: it is no IPv6 address.
std::string Ipv6Network(absl::string_view address) {
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

std::string PeerTable::Add(int fd, bool may_operate) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  UserIdentity user;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
    user = {.uid = peer.uid, .gid = peer.gid, .groups = GroupsOf(fd)};
  }
  std::string name = NameOf(user);
  absl::MutexLock lock(&mutex_);
  peers_[absl::StrCat(kLocalPrefix, fd)] = {std::move(user), peer.pid,
                                            may_operate};
  return name;
}

bool PeerTable::MayOperate(absl::string_view peer) const {
  if (!IsLocal(peer)) return true;
  absl::MutexLock lock(&mutex_);
  const auto found = peers_.find(peer);
  return found != peers_.end() && found->second.may_operate;
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
  const Peer& local = found->second;
  return absl::StrCat("unix uid=", local.user.uid, " pid=", local.pid);
}

Identity PeerTable::IdentityOf(const grpc::ServerContextBase& context) const {
  const std::string peer = context.peer();
  if (IsLocal(peer)) return IdentityOfPeer(peer);
  const auto authenticated = context.auth_context();
  if (authenticated != nullptr && authenticated->IsPeerAuthenticated()) {
    return CertificateOf(*authenticated);
  }
  return IdentityOfPeer(peer);
}

Identity PeerTable::IdentityOfPeer(absl::string_view peer) const {
  if (IsLocal(peer)) {
    absl::MutexLock lock(&mutex_);
    const auto found = peers_.find(peer);
    return found == peers_.end() ? UserIdentity() : found->second.user;
  }
  const size_t scheme = peer.find(':');
  if (scheme == absl::string_view::npos) {
    return AddressIdentity{std::string(peer)};
  }
  const std::string address = absl::StrReplaceAll(
      peer.substr(scheme + 1), {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  std::string ipv6 = Ipv6Network(address);
  if (!ipv6.empty()) return AddressIdentity{std::move(ipv6)};
  return AddressIdentity{address.substr(0, address.rfind(':'))};
}

bool PeerTable::IsLocal(absl::string_view peer) {
  return absl::StartsWith(peer, kLocalPrefix);
}

}  // namespace holdfast
