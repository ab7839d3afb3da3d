// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/payload_text.h"

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/status_payload_printer.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/cpp/fault.h"
#include "core/base/error_detail.h"
#include "holdfast/v1/faults.pb.h"

namespace holdfast {
namespace {

absl::optional<std::string> TextOf(absl::string_view type_url,
                                   const absl::Cord& payload) {
  if (!absl::StartsWith(type_url, "holdfast/")) return absl::nullopt;
  absl::Status holder = absl::UnknownError("");
  holder.SetPayload(type_url, payload);
  if (const auto report = FaultOf(holder)) {
    return DescribeFaultWithoutCause(*report);
  }
  // The message has the call, its result and the compiler's log.
  if (GetErrorDetail(holder).has_value()) return std::string();
  return absl::nullopt;
}

}  // namespace

void PrintPayloadsAsText() {
  static const bool once = [] {
    if (absl::status_internal::GetStatusPayloadPrinter() == nullptr) {
      absl::status_internal::SetStatusPayloadPrinter(TextOf);
    }
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace holdfast
