// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/rpc_status.h"

#include <string>

#include "core/base/error_detail.h"
#include "core/base/fault_epoch.h"
#include "core/base/quota_exceeded.h"
#include "core/base/source_name.h"

namespace holdfast {
namespace {

// The canonical codes have the same numbers on the wire and in Abseil; what is
// none of them (or 0, in an error) is UNKNOWN.
absl::StatusCode ToCode(int code) {
  const bool canonical = code > 0 && code <= 16;
  return canonical ? static_cast<absl::StatusCode>(code)
                   : absl::StatusCode::kUnknown;
}

void CopyDetail(const v1::Error& error, absl::Status* status) {
  v1::ErrorDetail message;
  for (const auto& any : error.details()) {
    if (!any.UnpackTo(&message)) continue;
    ErrorDetail detail;
    detail.call = message.call();
    detail.result = message.result();
    detail.result_name = message.result_name();
    detail.explanation = message.explanation();
    detail.log = message.log();
    detail.session_lost = message.session_lost();
    detail.handle = message.handle();
    detail.graph_node.assign(message.graph_node().begin(),
                             message.graph_node().end());
    detail.graph_update_result = message.graph_update_result();
    SetErrorDetail(detail, status);
    if (message.fault_epoch() != 0) {
      SetFaultEpoch(message.fault_epoch(), status);
    }
    if (message.suspended()) SetSuspended(status);
    if (message.quota().empty()) return;
    SetQuotaExceeded({.quota = message.quota(),
                      .limit = message.quota_limit(),
                      .used = message.quota_used(),
                      .requested = message.quota_requested()},
                     status);
    return;
  }
}

// The message of an error with the names that kernels have in their sources. A
// compiler's or a linker's stays as it is: its log is a part of it.
std::string Readable(const v1::Error& error, const std::string& message) {
  v1::ErrorDetail detail;
  for (const auto& any : error.details()) {
    if (any.UnpackTo(&detail) && !detail.log().empty()) return message;
  }
  return WithSourceNames(message);
}

}  // namespace

absl::Status ToStatus(const v1::Error& error) {
  absl::Status status(ToCode(error.code()), Readable(error, error.message()));
  CopyDetail(error, &status);
  return status;
}

absl::Status ToStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  v1::Error error;
  if (!error.ParseFromString(status.error_details())) error.Clear();
  absl::Status result(ToCode(status.error_code()),
                      Readable(error, status.error_message()));
  CopyDetail(error, &result);
  return result;
}

}  // namespace holdfast
