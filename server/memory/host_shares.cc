// SPDX-License-Identifier: Apache-2.0
#include "server/memory/host_shares.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/quota_exceeded.h"

namespace holdfast {
namespace {

absl::Status Refusal(const std::string& tenant, uint64_t held, uint64_t bytes,
                     uint64_t free, uint64_t limit) {
  const std::string name =
      absl::StrCat("host memory of tenant ", tenant, ", which has no quota");
  absl::Status status = absl::ResourceExhaustedError(absl::StrCat(
      name, ": ", bytes, " bytes asked for, it holds ", held, ", and ", free,
      " of ", limit,
      " are free for all tenants (--host-memory); it may hold as much as it "
      "leaves free to others"));
  SetQuotaExceeded({.quota = name,
                    .limit = held + (free > held ? (free - held) / 2 : 0),
                    .used = held,
                    .requested = bytes},
                   &status);
  return status;
}

}  // namespace

absl::Status HostShares::Take(const std::string& tenant, const Quota& own,
                              uint64_t bytes) {
  const uint64_t limit = host_->limit();
  const uint64_t used = std::max(host_->used(), bytes) - bytes;
  const uint64_t free = limit - std::min(limit, used);
  const bool divided =
      own.limit() == Quota::kUnlimited && limit != Quota::kUnlimited;
  absl::MutexLock lock(&mutex_);
  uint64_t& held = held_[tenant];
  const bool fits = bytes <= free && held <= free - bytes;
  if (divided && !fits) {
    const absl::Status refusal = Refusal(tenant, held, bytes, free, limit);
    if (held == 0) held_.erase(tenant);
    return refusal;
  }
  held += bytes;
  return absl::OkStatus();
}

void HostShares::Return(const std::string& tenant, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const auto found = held_.find(tenant);
  found->second -= bytes;
  if (found->second == 0) held_.erase(found);
}

}  // namespace holdfast
