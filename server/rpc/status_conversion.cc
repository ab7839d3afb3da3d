// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/status_conversion.h"

#include <google/protobuf/any.pb.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/utf8.h"

namespace holdfast {
namespace {

constexpr int kMaxCode = static_cast<int>(absl::StatusCode::kUnauthenticated);

v1::ErrorDetail ToProto(const ErrorDetail& detail) {
  v1::ErrorDetail proto;
  proto.set_call(ToValidUtf8(detail.call));
  proto.set_result(detail.result);
  proto.set_result_name(ToValidUtf8(detail.result_name));
  proto.set_explanation(ToValidUtf8(detail.explanation));
  proto.set_log(ToValidUtf8(detail.log));
  proto.set_session_lost(detail.session_lost);
  proto.set_handle(detail.handle);
  return proto;
}

ErrorDetail FromProto(const v1::ErrorDetail& proto) {
  ErrorDetail detail;
  detail.call = proto.call();
  detail.result = proto.result();
  detail.result_name = proto.result_name();
  detail.explanation = proto.explanation();
  detail.log = proto.log();
  detail.session_lost = proto.session_lost();
  detail.handle = proto.handle();
  return detail;
}

absl::StatusCode CanonicalCode(int code) {
  if (code <= 0 || code > kMaxCode) return absl::StatusCode::kUnknown;
  return static_cast<absl::StatusCode>(code);
}

v1::Error MakeError(const absl::Status& status,
                    const std::optional<ErrorDetail>& detail) {
  v1::Error error;
  error.set_code(static_cast<int>(status.ok() ? absl::StatusCode::kUnknown
                                              : status.code()));
  error.set_message(ToValidUtf8(status.message()));
  if (detail.has_value()) {
    error.add_details()->PackFrom(ToProto(*detail));
  }
  return error;
}

void LimitLog(ErrorDetail* detail) {
  if (detail->log.size() <= kMaxTrailerLogBytes) return;
  const size_t cut = detail->log.size() - kMaxTrailerLogBytes;
  detail->log.resize(kMaxTrailerLogBytes);
  absl::StrAppend(&detail->log, "\n[", cut, " more bytes]\n");
}

}  // namespace

v1::Error ToError(const absl::Status& status) {
  return MakeError(status, GetErrorDetail(status));
}

absl::Status FromError(const v1::Error& error) {
  absl::Status status(CanonicalCode(error.code()), error.message());
  for (const google::protobuf::Any& any : error.details()) {
    v1::ErrorDetail proto;
    if (any.UnpackTo(&proto)) SetErrorDetail(FromProto(proto), &status);
  }
  return status;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail.has_value()) {
    return grpc::Status(code, ToValidUtf8(status.message()));
  }
  LimitLog(&*detail);
  const v1::Error error = MakeError(status, detail);
  return grpc::Status(code, error.message(), error.SerializeAsString());
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  v1::Error error;
  if (!status.error_details().empty() &&
      error.ParseFromString(status.error_details()) &&
      error.code() == static_cast<int>(status.error_code())) {
    return FromError(error);
  }
  return absl::Status(CanonicalCode(status.error_code()),
                      status.error_message());
}

}  // namespace holdfast
