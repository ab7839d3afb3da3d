// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_LIFTED_LIMITS_H_
#define HOLDFAST_SERVER_RESTART_LIFTED_LIMITS_H_

#include <cstdint>
#include <map>
#include <memory>

#include "server/executor/account/quota.h"

namespace holdfast {

// Quotas that refuse nothing for as long as this object lives. A daemon takes
// over what an earlier one has left under it: memory that is held stays, also
// beyond a limit that was lowered in between, as with Quota::SetLimit. Not
// thread-safe.
class LiftedLimits {
 public:
  LiftedLimits() = default;
  ~LiftedLimits() {
    for (const auto& [quota, limit] : limits_) quota->SetLimit(limit);
  }
  LiftedLimits(const LiftedLimits&) = delete;
  LiftedLimits& operator=(const LiftedLimits&) = delete;

  void Lift(const std::shared_ptr<Quota>& quota) {
    if (!limits_.emplace(quota, quota->limit()).second) return;
    quota->SetLimit(Quota::kUnlimited);
  }

 private:
  std::map<std::shared_ptr<Quota>, uint64_t> limits_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_LIFTED_LIMITS_H_
