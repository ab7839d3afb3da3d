// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_PEER_ACCESS_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_PEER_ACCESS_H_

#include <cstdint>
#include <map>
#include <utility>

namespace holdfast::executor {

// Records the pairs of a session's devices between which peer access is
// enabled. Resources calls the driver. Not thread-safe.
class PeerAccess {
 public:
  // Returns true if kernels of `device` may use memory of `peer`. A device may
  // always use its own memory.
  bool Allows(uint32_t device, uint32_t peer) const {
    if (device == peer) [[likely]]
      return true;
    const auto it = pairs_.find({device, peer});
    return it != pairs_.end() && it->second.enabled;
  }

  // Returns false if nothing changes.
  bool Enable(uint32_t device, uint32_t peer);
  bool Disable(uint32_t device, uint32_t peer);

  // Returns the number of changes of a pair. A delayed change compares it to
  // learn whether a later change was made.
  uint64_t Changes(uint32_t device, uint32_t peer) const;

 private:
  struct Pair {
    bool enabled = false;
    uint64_t changes = 0;
  };
  bool Set(uint32_t device, uint32_t peer, bool enabled);

  std::map<std::pair<uint32_t, uint32_t>, Pair> pairs_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_PEER_ACCESS_H_
