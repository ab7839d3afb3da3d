// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_MEMORY_INHERITANCE_H_
#define HOLDFAST_SERVER_EXECUTOR_MEMORY_INHERITANCE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "core/base/unique_fd.h"
#include "cuda.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::executor {

// The memory of an executor that has ended. Its successor takes the memory over
// while it replays the steps of the session's journal. Not thread-safe: belongs
// to the submission thread.
struct Inheritance {
  struct Chunk {
    internal::ChunkCreated place;
    UniqueFd descriptor;
  };
  std::map<uint64_t, Chunk> chunks;       // by ChunkName, until adopted
  std::map<uint64_t, UniqueFd> host;      // host memory, by handle
  std::map<uint32_t, CUdeviceptr> bases;  // lowest chunk address, by device
  std::set<uint64_t> read_only;           // adopted chunks of collections
  // The variables of the session's modules. nullopt: none were saved, because
  // the executor died.
  std::optional<internal::SavedVariables> variables;
  // The step that is being replayed. The methods REQUIRE that it is not null.
  const internal::JournalRecord* step = nullptr;

  // Returns the old place of the memory of a resource that the step makes; null
  // if the resource had no memory.
  const internal::Placement* PlacementOf(uint64_t handle) const {
    for (const internal::Placement& placement : step->placements()) {
      if (placement.handle() == handle) return &placement;
    }
    return nullptr;
  }
  // Returns the supervisor's number of the import that a resource was; 0 if the
  // resource was no import.
  uint64_t ImportOf(uint64_t handle) const {
    return Of(handle, step->imports());
  }
  // Returns the old address of the import; 0 if it is unknown.
  CUdeviceptr ImportAddressOf(uint64_t handle) const {
    return Of(handle, step->import_addresses());
  }

 private:
  // Returns the entry of `numbers` for a handle that the step makes; 0 if there
  // is none.
  uint64_t Of(uint64_t handle,
              const google::protobuf::RepeatedField<uint64_t>& numbers) const {
    for (int i = 0; i < step->creates_size() && i < numbers.size(); ++i) {
      if (step->creates(i) == handle) return numbers[i];
    }
    return 0;
  }
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MEMORY_INHERITANCE_H_
