// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/memory_runs.h"

#include <memory>
#include <utility>

#include "core/base/status_macros.h"

namespace holdfast::libcuda {
namespace {

bool HasRun(const MemoryMap& map, const MemoryRun& run) {
  const auto found = map.Find(run.address);
  return found != nullptr && found->address == run.address &&
         found->size == run.size;
}

absl::Status AddRun(
    MemoryMap& map, const MemoryRun& run,
    absl::FunctionRef<absl::StatusOr<Buffer>(const MemoryRun&)> part) {
  auto allocation = std::make_shared<Allocation>();
  allocation->address = run.address;
  allocation->size = run.size;
  allocation->ordinal = run.ordinal;
  allocation->is_borrowed = true;
  HOLDFAST_ASSIGN_OR_RETURN(allocation->buffer, part(run));
  map.Add(std::move(allocation));
  return absl::OkStatus();
}

}  // namespace

// New allocations come from the last to the first, before old ones go.
absl::Status MemoryRuns::Update(
    MemoryMap& map, absl::Span<const MemoryRun> runs,
    absl::FunctionRef<absl::StatusOr<Buffer>(const MemoryRun&)> part) {
  absl::Status outcome;
  std::vector<CUdeviceptr> before = std::exchange(addresses_, {});
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (!HasRun(map, *run)) {
      const absl::Status added = AddRun(map, *run, part);
      outcome.Update(added);
      if (!added.ok()) continue;
    }
    addresses_.push_back(run->address);
    std::erase(before, run->address);
  }
  for (const CUdeviceptr address : before) {
    map.Remove(address, [](const Allocation&) { return true; });
  }
  return outcome;
}

}  // namespace holdfast::libcuda
