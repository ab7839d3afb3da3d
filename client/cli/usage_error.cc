// SPDX-License-Identifier: Apache-2.0
#include "client/cli/usage_error.h"

#include "absl/strings/cord.h"

namespace holdfast::cli {
namespace {

constexpr char kMark[] = "holdfast/usage_error";

}  // namespace

absl::Status UsageError(absl::Status status) {
  if (!status.ok()) status.SetPayload(kMark, absl::Cord());
  return status;
}

absl::Status NoUsageError(absl::Status status) {
  status.ErasePayload(kMark);
  return status;
}

bool IsUsageError(const absl::Status& status) {
  return status.GetPayload(kMark).has_value();
}

}  // namespace holdfast::cli
