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

// The occupancy of a device by a kernel, as cuOccupancy* returns it. Every
// query waits.
//
//   HOLDFAST_ASSIGN_OR_RETURN(
//       auto size, Occupancy(kernel).MaxPotentialBlockSize());
class Occupancy {
 public:
  // The default device is the session's first.
  explicit Occupancy(Kernel kernel,
                     std::optional<uint32_t> device = std::nullopt)
      : kernel_(std::move(kernel)), device_(device) {}

  // A block's number of threads, and the least number of such blocks that fills
  // the device.
  struct BlockSize {
    uint32_t threads = 0;
    uint32_t min_grid = 0;
  };

  absl::StatusOr<uint64_t> MaxActiveBlocksPerMultiprocessor(
      uint32_t threads, uint64_t dynamic_shared_bytes = 0) const;
  // `max_threads` 0 means the kernel's maximum.
  absl::StatusOr<BlockSize> MaxPotentialBlockSize(
      uint64_t dynamic_shared_bytes = 0, uint32_t max_threads = 0) const;
  // Returns bytes.
  absl::StatusOr<uint64_t> AvailableDynamicSharedPerBlock(
      uint32_t blocks, uint32_t threads) const;
  // Return a number of blocks of a cluster, and a number of clusters.
  // UNIMPLEMENTED: the device has no clusters.
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
