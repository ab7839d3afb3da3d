// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_report.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/utf8.h"

namespace holdfast {
namespace {

void Cut(std::string* text) {
  if (text->size() <= kMaxFaultText) return;
  text->resize(kMaxFaultText);
  *text = ToValidUtf8(*text);  // A character may have been cut.
}

void Cut(v1::Error* error) {
  Cut(error->mutable_message());
  if (error->ByteSizeLong() > 2 * kMaxFaultText) error->clear_details();
}

}  // namespace

absl::Status CheckReport(const internal::FromExecutor& message) {
  if (!message.has_usage()) return absl::OkStatus();
  const size_t bytes = message.usage().ByteSizeLong();
  if (bytes <= kMaxUsageBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "it sent an account of ", bytes, " bytes, more than ", kMaxUsageBytes));
}

internal::Fault Shortened(internal::Fault fault) {
  if (fault.has_error()) Cut(fault.mutable_error());
  Cut(fault.mutable_kernel());
  Cut(fault.mutable_source_line());
  return fault;
}

internal::Serving Shortened(internal::Serving serving) {
  if (serving.has_error()) Cut(serving.mutable_error());
  if (serving.ByteSizeLong() > kMaxLostBytes + 2 * kMaxFaultText) {
    serving.clear_lost();  // The number of them stays.
  }
  return serving;
}

}  // namespace holdfast
