// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_quota.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace holdfast::supervisor {
namespace {

constexpr char kSetBy[] = "the session's quota";

// 0 stands for no limit.
bool IsLess(uint64_t quota, uint64_t limit) {
  return quota != 0 && (limit == 0 || quota < limit);
}

}  // namespace

absl::Status CheckSessionQuota(const v1::Quota& quota) {
  const char* const of_tenants =
      quota.sessions() != 0           ? "sessions"
      : quota.has_compile_time()      ? "compile_time"
      : quota.compile_requests() != 0 ? "compile_requests"
      : quota.collection_bytes() != 0 ? "collection_bytes"
                                      : nullptr;
  if (of_tenants == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a session has no quota ", of_tenants, "; that is its tenant's"));
}

internal::AccountLimits Restrict(internal::AccountLimits limits,
                                 const v1::Quota& quota) {
  if (IsLess(quota.device_bytes(), limits.device_bytes())) {
    limits.set_device_bytes(quota.device_bytes());
    limits.set_device_bytes_set_by(kSetBy);
  }
  if (IsLess(quota.pinned_bytes(), limits.pinned_bytes())) {
    limits.set_pinned_bytes(quota.pinned_bytes());
    limits.set_pinned_bytes_set_by(kSetBy);
  }
  if (IsLess(quota.arena_bytes(), limits.arena_bytes())) {
    limits.set_arena_bytes(quota.arena_bytes());
    limits.set_arena_bytes_set_by(kSetBy);
  }
  if (IsLess(quota.handles(), limits.handles())) {
    limits.set_handles(quota.handles());
    limits.set_handles_set_by(kSetBy);
  }
  if (IsLess(quota.outstanding_commands(), limits.outstanding_commands())) {
    limits.set_outstanding_commands(quota.outstanding_commands());
    limits.set_outstanding_commands_set_by(kSetBy);
  }
  return limits;
}

}  // namespace holdfast::supervisor
