// SPDX-License-Identifier: Apache-2.0
//
// The typed part of a refusal by a quota: which one, and its figures. It
// travels as a payload of the status, beside an ErrorDetail if there is one.
#ifndef HOLDFAST_CORE_BASE_QUOTA_EXCEEDED_H_
#define HOLDFAST_CORE_BASE_QUOTA_EXCEEDED_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace holdfast {

// As the quota fields of holdfast.v1.ErrorDetail.
struct QuotaExceeded {
  std::string quota;  // "device memory of tenant alice"
  // In the quota's unit, mostly bytes; `used` is without what was refused.
  uint64_t limit = 0;
  uint64_t used = 0;
  uint64_t requested = 0;

  bool operator==(const QuotaExceeded&) const = default;
};

// Replaces what `status` has of it; no effect on an OK status.
void SetQuotaExceeded(const QuotaExceeded& exceeded, absl::Status* status);

// Returns nullopt if no quota refused, or the payload is not well formed.
std::optional<QuotaExceeded> GetQuotaExceeded(const absl::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_QUOTA_EXCEEDED_H_
