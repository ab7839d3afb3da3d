// SPDX-License-Identifier: Apache-2.0
#include "core/base/fault_epoch.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace holdfast {
namespace {

constexpr char kTypeUrl[] = "holdfast/fault_epoch";
constexpr char kSuspendedUrl[] = "holdfast/suspended";

}  // namespace

void SetFaultEpoch(uint64_t epoch, absl::Status* status) {
  status->SetPayload(kTypeUrl, absl::Cord(absl::StrCat(epoch)));
}

uint64_t FaultEpochOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kTypeUrl);
  uint64_t epoch = 0;
  if (!payload.has_value() ||
      !absl::SimpleAtoi(std::string(*payload), &epoch)) {
    return 0;
  }
  return epoch;
}

void SetSuspended(absl::Status* status) {
  status->SetPayload(kSuspendedUrl, absl::Cord());
}

bool IsSuspended(const absl::Status& status) {
  return status.GetPayload(kSuspendedUrl).has_value();
}

}  // namespace holdfast
