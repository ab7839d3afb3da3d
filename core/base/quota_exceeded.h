// SPDX-License-Identifier: Apache-2.0
//
// The typed part of the status of a request that a quota refuses: the quota's
// name and its figures. It is a payload of the status. The status may also have
// an ErrorDetail.
#ifndef HOLDFAST_CORE_BASE_QUOTA_EXCEEDED_H_
#define HOLDFAST_CORE_BASE_QUOTA_EXCEEDED_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace holdfast {

// The fields are the quota fields of holdfast.v1.ErrorDetail.
struct QuotaExceeded {
  std::string quota;  // "device memory of tenant alice"
  // In the quota's unit, mostly bytes. `used` does not include the refused
  // amount.
  uint64_t limit = 0;
  uint64_t used = 0;
  uint64_t requested = 0;

  bool operator==(const QuotaExceeded&) const = default;
};

// Sets the payload of `status`, in place of an earlier one. No effect on an OK
// status.
void SetQuotaExceeded(const QuotaExceeded& exceeded, absl::Status* status);

// Returns the payload; nullopt if `status` has none, or a malformed one.
std::optional<QuotaExceeded> GetQuotaExceeded(const absl::Status& status);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_QUOTA_EXCEEDED_H_
