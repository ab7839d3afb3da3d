// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/state/launch_limits.h"

#include <string>

#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Configurations that are remembered. Programs have few.
constexpr size_t kMaxRemembered = 1024;

uint64_t Attribute(const v1::Device& device, const std::string& name) {
  const auto found = device.attributes().find(name);
  return found == device.attributes().end() || found->second < 0
             ? 0
             : static_cast<uint64_t>(found->second);
}

}  // namespace

absl::StatusOr<LaunchLimits::OfDevice> LaunchLimits::Of(uint32_t device) {
  {
    absl::MutexLock lock(&mutex_);
    if (auto found = devices_.find(device); found != devices_.end()) {
      return found->second;
    }
  }
  if (!describe_) {
    return absl::FailedPreconditionError("no daemon tells of the device");
  }
  HOLDFAST_ASSIGN_OR_RETURN(const v1::Device described, describe_(device));
  const OfDevice limits = {
      Attribute(described, "max_shared_memory_per_block_optin"),
      Attribute(described, "multiprocessor_count")};
  absl::MutexLock lock(&mutex_);
  return devices_[device] = limits;
}

absl::StatusOr<uint64_t> LaunchLimits::MaxBlocks(
    const Cooperative& launch,
    absl::FunctionRef<absl::StatusOr<uint64_t>()> ask) {
  {
    absl::MutexLock lock(&mutex_);
    if (auto found = blocks_.find(launch); found != blocks_.end()) {
      return found->second;
    }
  }
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t blocks, ask());
  absl::MutexLock lock(&mutex_);
  if (blocks_.size() >= kMaxRemembered) blocks_.clear();
  return blocks_[launch] = blocks;
}

}  // namespace holdfast
