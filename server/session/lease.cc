// SPDX-License-Identifier: Apache-2.0
#include "server/session/lease.h"

#include <algorithm>

namespace holdfast::session {

Lease Lease::Left(absl::Duration grace, absl::Time now, bool had_client) {
  Lease lease(std::max(grace, kFirstKeepAlive), now);
  lease.deadline_ = now + lease.grace_;
  lease.grace_ = grace;
  lease.detached_ = true;
  if (had_client) lease.returning_until_ = now + kFirstKeepAlive;
  return lease;
}

void Lease::Connect() {
  ++streams_;
  detached_ = false;
  deadline_ = absl::InfiniteFuture();
  returning_until_ = absl::InfinitePast();
  claimed_until_ = absl::InfinitePast();
}

bool Lease::Disconnect(absl::Time now) {
  if (--streams_ > 0) return false;
  detached_ = true;
  deadline_ = now + grace_;
  return true;
}

void Lease::Attach(absl::Time now) {
  if (!connected()) deadline_ = std::max(deadline_, now + kFirstKeepAlive);
}

void Lease::NoteLost(absl::Time now) {
  grace_ = std::max(grace_, kLostKept);
  if (!connected()) deadline_ = now + kLostKept;
}

absl::Status Lease::CheckClaim(absl::Time now) const {
  if (!detached_) return absl::FailedPreconditionError("it has a client");
  if (now < returning_until_) {
    return absl::FailedPreconditionError(
        "it has a client, which may come back yet after the daemon's restart");
  }
  // Two clients would send commands with the same numbers.
  if (now < claimed_until_) {
    return absl::FailedPreconditionError("another client is taking it up");
  }
  return absl::OkStatus();
}

void Lease::Claim(absl::Time now) {
  claimed_until_ = now + kFirstKeepAlive;
  deadline_ = std::max(deadline_, claimed_until_);
}

}  // namespace holdfast::session
