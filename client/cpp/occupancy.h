// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_OCCUPANCY_H_
#define HOLDFAST_CLIENT_CPP_OCCUPANCY_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "client/cpp/kernel.h"
#include "client/cpp/launch.h"

namespace holdfast {

namespace v1 {
class QueryOccupancy;
}  // namespace v1

// How much of a kernel fits onto a device: cuOccupancy*. Every query waits.
//
//   HOLDFAST_ASSIGN_OR_RETURN(
//       auto size, Occupancy(kernel).MaxPotentialBlockSize());
class Occupancy {
 public:
  // Without a device: the first of the session's.
  explicit Occupancy(Kernel kernel,
                     std::optional<uint32_t> device = std::nullopt)
      : kernel_(std::move(kernel)), device_(device) {}

  // Threads of a block, and the blocks with which they fill the device.
  struct BlockSize {
    uint32_t threads = 0;
    uint32_t min_grid = 0;
  };

  absl::StatusOr<uint64_t> MaxActiveBlocksPerMultiprocessor(
      uint32_t threads, uint64_t dynamic_shared_bytes = 0) const;
  // 0 threads: as many as the kernel allows.
  absl::StatusOr<BlockSize> MaxPotentialBlockSize(
      uint64_t dynamic_shared_bytes = 0, uint32_t max_threads = 0) const;
  // Bytes.
  absl::StatusOr<uint64_t> AvailableDynamicSharedPerBlock(
      uint32_t blocks, uint32_t threads) const;
  // UNIMPLEMENTED: no clusters on this device.
  absl::StatusOr<uint64_t> MaxPotentialClusterSize(
      const LaunchConfig& config) const;
  absl::StatusOr<uint64_t> MaxActiveClusters(const LaunchConfig& config) const;

 private:
  absl::StatusOr<uint64_t> Ask(v1::QueryOccupancy query) const;

  Kernel kernel_;
  std::optional<uint32_t> device_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_OCCUPANCY_H_
