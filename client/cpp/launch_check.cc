// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/launch_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// CUDA's own, which are the same for every compute capability.
constexpr Dim3 kMaxGrid(0x7fffffff, 65535, 65535);
constexpr Dim3 kMaxBlock(1024, 1024, 64);
constexpr uint64_t kMaxThreads = 1024;

// Bytes of dynamic shared memory that every device has.
constexpr uint32_t kOrdinarySharedBytes = 48 << 10;

uint64_t Volume(const Dim3& dim) { return uint64_t{dim.x} * dim.y * dim.z; }

std::string ToString(const Dim3& dim) {
  return absl::StrCat("(", dim.x, ", ", dim.y, ", ", dim.z, ")");
}

absl::Status CheckDimensions(const char* what, const Dim3& dim,
                             const Dim3& limit) {
  if (dim.x == 0 || dim.y == 0 || dim.z == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", ToString(dim), " has a dimension that is 0"));
  }
  if (dim.x > limit.x || dim.y > limit.y || dim.z > limit.z) {
    return absl::OutOfRangeError(absl::StrCat(
        what, " ", ToString(dim), " exceeds the limit ", ToString(limit)));
  }
  return absl::OkStatus();
}

absl::Status CheckShared(const LaunchConfig& config, SessionState& session,
                         uint32_t device) {
  if (config.dynamic_shared_bytes <= kOrdinarySharedBytes) {
    return absl::OkStatus();
  }
  const auto limits = session.launch_limits.Of(device);
  // The daemon will say what is wrong, if anything is.
  if (!limits.ok() || limits->shared_bytes == 0) return absl::OkStatus();
  if (config.dynamic_shared_bytes <= limits->shared_bytes) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(
      absl::StrCat(config.dynamic_shared_bytes,
                   " bytes of dynamic shared memory; the limit of a block on "
                   "device ",
                   device, " is ", limits->shared_bytes));
}

absl::Status CheckCooperative(const LaunchConfig& config, const Kernel& kernel,
                              SessionState& session, uint32_t device) {
  if (!config.cooperative) return absl::OkStatus();
  const auto limits = session.launch_limits.Of(device);
  if (!limits.ok() || limits->multiprocessors == 0) return absl::OkStatus();
  const auto threads = static_cast<uint32_t>(Volume(config.block));
  const auto ask = [&]() -> absl::StatusOr<uint64_t> {
    v1::QueryOccupancy query;
    auto& blocks = *query.mutable_max_active_blocks_per_multiprocessor();
    blocks.set_threads(threads);
    blocks.set_dynamic_shared_bytes(config.dynamic_shared_bytes);
    HOLDFAST_ASSIGN_OR_RETURN(const v1::Occupancy found,
                              kernel.Query(std::move(query), device));
    return found.value() * limits->multiprocessors;
  };
  HOLDFAST_ASSIGN_OR_RETURN(
      const uint64_t limit,
      session.launch_limits.MaxBlocks(
          {kernel.handle(), device, threads, config.dynamic_shared_bytes},
          ask));
  if (Volume(config.grid) <= limit) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "cooperative grid ", ToString(config.grid), " has ", Volume(config.grid),
      " blocks; the limit of this kernel with block ", ToString(config.block),
      " on device ", device, " is ", limit));
}

}  // namespace

absl::Status CheckGeometry(const LaunchConfig& config) {
  HOLDFAST_RETURN_IF_ERROR(CheckDimensions("grid", config.grid, kMaxGrid));
  HOLDFAST_RETURN_IF_ERROR(CheckDimensions("block", config.block, kMaxBlock));
  if (Volume(config.block) <= kMaxThreads) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "block ", ToString(config.block), " has ", Volume(config.block),
      " threads; the limit is ", kMaxThreads));
}

absl::Status CheckLaunch(const LaunchConfig& config, const Kernel& kernel,
                         uint32_t device) {
  HOLDFAST_RETURN_IF_ERROR(CheckGeometry(config));
  SessionState& session = *kernel.session();
  HOLDFAST_RETURN_IF_ERROR(CheckShared(config, session, device));
  return CheckCooperative(config, kernel, session, device);
}

}  // namespace holdfast
