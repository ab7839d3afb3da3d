// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/peer_table.h"

#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

constexpr absl::string_view kLocalPrefix = "fd:";

}  // namespace

void PeerTable::Add(int fd) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
  absl::MutexLock lock(&mutex_);
  peers_[absl::StrCat(kLocalPrefix, fd)] = peer;
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
