// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_STATE_LAUNCH_LIMITS_H_
#define HOLDFAST_CLIENT_CPP_STATE_LAUNCH_LIMITS_H_

#include <cstdint>
#include <functional>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast {

// Limits of launches on the session's devices. They never change, so each limit
// is requested from the daemon once, when a launch first needs it. Thread-safe.
class LaunchLimits {
 public:
  struct OfDevice {
    uint64_t shared_bytes = 0;  // of one block, at most
    uint64_t multiprocessors = 0;
  };
  // A cooperative launch; threads and dynamic shared bytes are of one block.
  using Cooperative = std::tuple<uint64_t /*kernel*/, uint32_t /*device*/,
                                 uint32_t /*threads*/, uint32_t /*bytes*/>;

  // Sets the function that requests a device's description from the daemon.
  // REQUIRES: called before the first Of().
  void SetDescribe(
      std::function<absl::StatusOr<v1::Device>(uint32_t)> describe) {
    describe_ = std::move(describe);
  }

  // Returns the limits of a device. The first call waits for the daemon.
  // FAILED_PRECONDITION: SetDescribe was not called.
  absl::StatusOr<OfDevice> Of(uint32_t device);
  // Returns the number of blocks that can be resident on the device at once.
  // The first call for a launch gets the number from `ask`, and fails as `ask`
  // does.
  absl::StatusOr<uint64_t> MaxBlocks(
      const Cooperative& launch,
      absl::FunctionRef<absl::StatusOr<uint64_t>()> ask);

 private:
  std::function<absl::StatusOr<v1::Device>(uint32_t)> describe_;
  absl::Mutex mutex_;
  absl::flat_hash_map<uint32_t, OfDevice> devices_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<Cooperative, uint64_t> blocks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_STATE_LAUNCH_LIMITS_H_
