// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_LIFTED_LIMITS_H_
#define HOLDFAST_SERVER_RESTART_LIFTED_LIMITS_H_

#include <cstdint>
#include <map>
#include <memory>

#include "server/account/quota.h"

namespace holdfast {

// Removes limits of quotas, and sets them again when destroyed. While a daemon
// adopts an earlier daemon's memory, the limits are lifted, so that all of this
// memory is kept, even above a limit that was lowered meanwhile. Not
// thread-safe.
class LiftedLimits {
 public:
  LiftedLimits() = default;
  ~LiftedLimits() {
    for (const auto& [quota, limit] : limits_) quota->SetLimit(limit);
  }
  LiftedLimits(const LiftedLimits&) = delete;
  LiftedLimits& operator=(const LiftedLimits&) = delete;

  // Removes the limit of `quota`. Has no effect if it was lifted already.
  void Lift(const std::shared_ptr<Quota>& quota) {
    if (!limits_.emplace(quota, quota->limit()).second) return;
    quota->SetLimit(Quota::kUnlimited);
  }

 private:
  std::map<std::shared_ptr<Quota>, uint64_t> limits_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_LIFTED_LIMITS_H_
