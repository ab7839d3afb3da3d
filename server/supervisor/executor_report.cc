// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_report.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/utf8.h"
#include "google/protobuf/message_lite.h"

namespace holdfast::supervisor {
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

absl::Status CheckSize(absl::string_view what,
                       const google::protobuf::MessageLite& report,
                       size_t limit) {
  const size_t bytes = report.ByteSizeLong();
  if (bytes <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "it sent ", what, " of ", bytes, " bytes, more than ", limit));
}

}  // namespace

absl::Status CheckReport(const internal::FromExecutor& message) {
  if (message.has_usage()) {
    return CheckSize("an account", message.usage(), kMaxUsageBytes);
  }
  if (message.has_ready()) {
    return CheckSize("a description of itself", message.ready(),
                     kMaxReportBytes);
  }
  return absl::OkStatus();
}

void Shorten(internal::FromExecutor* message) {
  if (message->has_error()) Cut(message->mutable_error());
  if (message->has_fault()) {
    internal::Fault& fault = *message->mutable_fault();
    if (fault.has_error()) Cut(fault.mutable_error());
    Cut(fault.mutable_kernel());
    Cut(fault.mutable_source_line());
  }
  if (message->has_serving() &&
      message->serving().ByteSizeLong() > kMaxLostBytes) {
    message->mutable_serving()->clear_lost();  // The number of them stays.
  }
}

}  // namespace holdfast::supervisor
