// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_PEER_ACCESS_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_PEER_ACCESS_H_

#include <cstdint>
#include <map>
#include <utility>

namespace holdfast::executor {

// The pairs of a session's devices between which peer access is enabled. This
// class only records them; its callers call the driver. Not thread-safe.
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

  // Record that kernels of `device` may, or may not, use memory of `peer`.
  // Return false if nothing has changed.
  bool Enable(uint32_t device, uint32_t peer);
  bool Disable(uint32_t device, uint32_t peer);

  // Returns the number of changes of a pair. Code that delays a change compares
  // the numbers to find out whether a later change was made.
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
