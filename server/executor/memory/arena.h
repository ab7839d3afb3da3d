// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_MEMORY_ARENA_H_
#define HOLDFAST_SERVER_EXECUTOR_MEMORY_ARENA_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "core/cuda/context.h"
#include "core/cuda/host_memory.h"
#include "server/account/quota.h"
#include "server/executor/memory/arena_places.h"

namespace holdfast::executor {

// Memory that a client shares with the executor: a memfd of the client, mapped
// and page-locked here. The client can write to it at any time, so devices copy
// its bytes and the executor never interprets them. The client cannot remove
// the pages: only memfds that cannot shrink and that have ordinary pages are
// accepted, in which punched holes read as zeros.
class Arena {
 public:
  // Maps and page-locks the first `size` bytes of the memfd; fails as
  // TransferService.RegisterArena. Blocks for about 40 ms a GiB. Charges the
  // size to `quota` before a page is allocated. If `places` is not null, maps
  // the memory there, at `wish` if possible; see ArenaPlaces::Map.
  static absl::StatusOr<std::unique_ptr<Arena>> Create(
      std::shared_ptr<const cuda::Context> context, UniqueFd memfd,
      uint64_t size, Quota& quota, ArenaPlaces* places, uint64_t wish);

  // Unmaps the memory. REQUIRES: no device uses it.
  ~Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  CUdeviceptr device_address() const { return memory_->device_address(); }
  // Returns device_address() if a successor of this process can map the arena
  // at the same address; else 0.
  CUdeviceptr lasting_address() const;
  uint64_t size() const { return charge_.amount(); }

  // Announces to the quota that this arena will be freed as soon as a device
  // has finished with it.
  void BeginReturn() { charge_.BeginReturn(); }

 private:
  explicit Arena(Charge charge) : charge_(std::move(charge)) {}
  // Sets mapping_ or placed_, and returns its data.
  absl::StatusOr<void*> Map(int memfd, uint64_t size, ArenaPlaces* places,
                            uint64_t wish);

  // In the order of construction; destroyed in reverse order.
  Charge charge_;
  FileMapping mapping_;  // null: placed_ is used
  PlacedMapping placed_;
  std::unique_ptr<cuda::HostMemory> memory_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_MEMORY_ARENA_H_
