// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_LAUNCH_LIMITS_H_
#define HOLDFAST_CLIENT_CPP_LAUNCH_LIMITS_H_

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

// What the daemon tells of a session's devices and kernels that limits
// launches. It does not change, so it is asked for once, when a launch first
// needs it. Thread-safe.
class LaunchLimits {
 public:
  struct OfDevice {
    uint64_t shared_bytes = 0;  // of one block, at most
    uint64_t multiprocessors = 0;
  };
  // A cooperative launch whose blocks have so many threads and dynamic bytes.
  using Cooperative = std::tuple<uint64_t /*kernel*/, uint32_t /*device*/,
                                 uint32_t /*threads*/, uint32_t /*bytes*/>;

  // `describe` asks the daemon about a device. Before the first use.
  void SetDescribe(
      std::function<absl::StatusOr<v1::Device>(uint32_t)> describe) {
    describe_ = std::move(describe);
  }

  // Waits, the first time. FAILED_PRECONDITION: there is nobody to ask.
  absl::StatusOr<OfDevice> Of(uint32_t device);
  // The blocks that can be resident at once; the first time, as `ask` tells.
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

#endif  // HOLDFAST_CLIENT_CPP_LAUNCH_LIMITS_H_
