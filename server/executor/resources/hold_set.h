// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_HOLD_SET_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_HOLD_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "server/executor/resources/hold.h"

namespace holdfast::executor {

// The resources that a graph, or one update of its nodes, keeps alive. Each is
// held once, even if many nodes name it. The destructor does not release them:
// the owner passes holds() to Resources::Release. Not thread-safe.
class HoldSet {
 public:
  HoldSet();
  ~HoldSet();
  HoldSet(const HoldSet&) = delete;
  HoldSet& operator=(const HoldSet&) = delete;

  // Notes that the set has the resource of this handle, or its part on a
  // device. Returns false if the set has it already; otherwise the caller must
  // Add it.
  bool Insert(uint64_t handle, uint32_t device = 0) {
    const std::pair<uint64_t, uint32_t> key = {handle, device};
    auto& recent = recent_[PlaceOf(handle)];
    if (recent == key) return false;
    recent = key;
    return seen_.insert(key).second;
  }
  void Add(Hold hold);
  // Frees the memory that only Insert needs, because a graph may live long.
  // REQUIRES: Insert is not called any more.
  void Close() {
    seen_ = {};
    recent_ = {};
  }

  const std::vector<Hold>& holds() const { return holds_; }
  // Removes from `holds` the resources that this set has, too.
  void RemoveKept(std::vector<Hold>* holds) const;

 private:
  // A node mostly names the resources of the nodes before it. So some of the
  // last keys are kept here, where they are found without hashing. PlaceOf
  // mixes in the kind, because the handles of each kind count up from 0.
  static constexpr size_t kRecent = 8;
  static size_t PlaceOf(uint64_t handle) {
    return (handle ^ handle >> 56) % kRecent;
  }

  std::array<std::pair<uint64_t, uint32_t>, kRecent> recent_ = {};
  absl::flat_hash_set<std::pair<uint64_t, uint32_t>> seen_;
  std::vector<Hold> holds_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_HOLD_SET_H_
