// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/held_arenas.h"

#include <utility>

#include "core/base/status_macros.h"

namespace holdfast {

absl::Status HeldArenas::Hold(uint64_t handle, uint64_t size, UniqueFd memory) {
  if (!memory.valid()) {
    return absl::InvalidArgumentError("memory came without a descriptor");
  }
  if (arenas_.size() >= kMaxArenas) return absl::OkStatus();
  auto kept = kept_.Keep("arena", {handle, size}, memory.get());
  arenas_[handle] = {size, std::move(memory), std::move(kept)};
  return absl::OkStatus();
}

void HeldArenas::ReleaseLater(uint64_t handle) {
  if (arenas_.contains(handle)) released_.insert(handle);
}

void HeldArenas::EndRestore() {
  for (const uint64_t handle : std::exchange(released_, {})) Release(handle);
}

absl::Status HeldArenas::ForEach(
    absl::FunctionRef<absl::Status(uint64_t handle, uint64_t size, int fd)>
        visit) const {
  for (const auto& [handle, arena] : arenas_) {
    HOLDFAST_RETURN_IF_ERROR(visit(handle, arena.size, arena.memory.get()));
  }
  return absl::OkStatus();
}

}  // namespace holdfast
