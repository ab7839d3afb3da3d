// SPDX-License-Identifier: Apache-2.0
#include "server/executor/resources/peer_access.h"

namespace holdfast::executor {

bool PeerAccess::Set(uint32_t device, uint32_t peer, bool enabled) {
  Pair& pair = pairs_[{device, peer}];
  if (pair.enabled == enabled) return false;
  pair.enabled = enabled;
  ++pair.changes;
  return true;
}

bool PeerAccess::Enable(uint32_t device, uint32_t peer) {
  return Set(device, peer, true);
}

bool PeerAccess::Disable(uint32_t device, uint32_t peer) {
  return Set(device, peer, false);
}

uint64_t PeerAccess::Changes(uint32_t device, uint32_t peer) const {
  const auto it = pairs_.find({device, peer});
  return it == pairs_.end() ? 0 : it->second.changes;
}

}  // namespace holdfast::executor
