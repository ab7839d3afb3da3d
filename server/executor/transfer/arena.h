// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_TRANSFER_ARENA_H_
#define HOLDFAST_SERVER_EXECUTOR_TRANSFER_ARENA_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "core/cuda/context.h"
#include "core/cuda/host_memory.h"
#include "server/executor/account/quota.h"
#include "server/executor/transfer/arena_places.h"

namespace holdfast::executor {

// Memory that a client shares with us: a memfd of the client's, mapped and
// page-locked. The client can write to it at any time, so its bytes are copied
// by devices and never interpreted; it cannot take the pages away, since only
// memfds that cannot shrink are accepted, and only ordinary pages, which come
// back as zeros if the client punches holes.
class Arena {
 public:
  // As TransferService.RegisterArena says. Takes about 40 ms a GiB. The size is
  // charged before any page is made. `places` may be null; `wish`: as
  // ArenaPlaces::Map has it.
  static absl::StatusOr<std::unique_ptr<Arena>> Create(
      std::shared_ptr<const cuda::Context> context, UniqueFd memfd,
      uint64_t size, Quota& quota, ArenaPlaces* places, uint64_t wish);

  // REQUIRES: no device uses it any more.
  ~Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  CUdeviceptr device_address() const { return memory_->device_address(); }
  // The same, if a successor of this process can have the arena there, too;
  // else 0.
  CUdeviceptr lasting_address() const;
  uint64_t size() const { return charge_.amount(); }

  // It goes as soon as a device has finished with it.
  void BeginReturn() { charge_.BeginReturn(); }

 private:
  explicit Arena(Charge charge) : charge_(std::move(charge)) {}
  // Sets mapping_ or placed_, and returns its data.
  absl::StatusOr<void*> Map(int memfd, uint64_t size, ArenaPlaces* places,
                            uint64_t wish);

  // In the order in which they are made; they end in the other.
  Charge charge_;
  FileMapping mapping_;  // null: it is placed
  PlacedMapping placed_;
  std::unique_ptr<cuda::HostMemory> memory_;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_TRANSFER_ARENA_H_
