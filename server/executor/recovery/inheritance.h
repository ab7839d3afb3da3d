// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_RECOVERY_INHERITANCE_H_
#define HOLDFAST_SERVER_EXECUTOR_RECOVERY_INHERITANCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "core/base/unique_fd.h"
#include "cuda.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::executor {

// The memory that the successor of a dead executor takes over while it replays
// the steps of the session's journal. Belongs to the submission thread.
struct Inheritance {
  struct Chunk {
    internal::ChunkCreated place;
    UniqueFd descriptor;
  };
  std::map<uint64_t, Chunk> chunks;       // by ChunkName, until adopted
  std::map<uint64_t, UniqueFd> host;      // memory of the host, by handle
  std::map<uint32_t, CUdeviceptr> bases;  // of the addresses, by device
  std::set<uint64_t> read_only;           // adopted chunks of collections
  // The variables of its modules, if it ended in order.
  std::optional<internal::SavedVariables> variables;
  // The step that is being repeated.
  const internal::JournalRecord* step = nullptr;

  // Where the memory of a resource lay that the step makes; null: nowhere.
  const internal::Placement* PlacementOf(uint64_t handle) const {
    for (const internal::Placement& placement : step->placements()) {
      if (placement.handle() == handle) return &placement;
    }
    return nullptr;
  }
  // The supervisor's name of what it had imported; 0: nothing.
  uint64_t ImportOf(uint64_t handle) const {
    return Of(handle, step->imports());
  }
  // Where that was mapped; 0: that is not known.
  CUdeviceptr ImportAddressOf(uint64_t handle) const {
    return Of(handle, step->import_addresses());
  }

 private:
  // The number that belongs to the handle which the step makes; 0: none does.
  uint64_t Of(uint64_t handle,
              const google::protobuf::RepeatedField<uint64_t>& numbers) const {
    for (int i = 0; i < step->creates_size() && i < numbers.size(); ++i) {
      if (step->creates(i) == handle) return numbers[i];
    }
    return 0;
  }
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RECOVERY_INHERITANCE_H_
