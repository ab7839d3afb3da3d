// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/status_conversion.h"

#include <google/protobuf/any.pb.h>

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/error_detail.h"
#include "core/base/fault_epoch.h"
#include "core/base/quota_exceeded.h"
#include "core/base/utf8.h"
#include "server/rpc/metadata.h"

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
  proto.mutable_graph_node()->Add(detail.graph_node.begin(),
                                  detail.graph_node.end());
  proto.set_graph_update_result(ToValidUtf8(detail.graph_update_result));
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
  detail.graph_node.assign(proto.graph_node().begin(),
                           proto.graph_node().end());
  detail.graph_update_result = proto.graph_update_result();
  return detail;
}

absl::StatusCode CanonicalCode(int code) {
  if (code <= 0 || code > kMaxCode) return absl::StatusCode::kUnknown;
  return static_cast<absl::StatusCode>(code);
}

void SetQuota(const QuotaExceeded& exceeded, v1::ErrorDetail* proto) {
  proto->set_quota(ToValidUtf8(exceeded.quota));
  proto->set_quota_limit(exceeded.limit);
  proto->set_quota_used(exceeded.used);
  proto->set_quota_requested(exceeded.requested);
}

// `detail`, with the quota that refused and the fault's epoch, if the status
// has them; nullopt if there is nothing to tell.
std::optional<v1::ErrorDetail> DetailOf(
    const absl::Status& status, const std::optional<ErrorDetail>& detail) {
  const std::optional<QuotaExceeded> exceeded = GetQuotaExceeded(status);
  if (!detail.has_value() && !exceeded.has_value()) return std::nullopt;
  v1::ErrorDetail proto;
  if (detail.has_value()) proto = ToProto(*detail);
  if (exceeded.has_value()) SetQuota(*exceeded, &proto);
  proto.set_fault_epoch(FaultEpochOf(status));
  proto.set_suspended(IsSuspended(status));
  return proto;
}

v1::Error MakeError(const absl::Status& status,
                    const std::optional<v1::ErrorDetail>& detail) {
  v1::Error error;
  error.set_code(static_cast<int>(status.ok() ? absl::StatusCode::kUnknown
                                              : status.code()));
  error.set_message(ToValidUtf8(status.message()));
  if (detail.has_value()) {
    error.add_details()->PackFrom(*detail);
  }
  return error;
}

// Cuts `text` so that it has at most `limit` bytes, with a note of how many are
// missing, and ends at a character's end.
void Limit(size_t limit, std::string* text) {
  constexpr size_t kNote = 40;
  if (text->size() <= limit) return;
  size_t kept = limit - std::min(limit, kNote);
  while (kept > 0 && (static_cast<unsigned char>((*text)[kept]) & 0xC0) == 0x80)
    --kept;
  const size_t cut = text->size() - kept;
  text->resize(kept);
  absl::StrAppend(text, "\n[", cut, " more bytes]\n");
}

// The message is in both trailers; what is left over is the log's.
void FitTrailers(size_t trailer_bytes, std::string* message,
                 ErrorDetail* detail) {
  constexpr size_t kFixed = 256;  // keys, tags, lengths
  Limit(trailer_bytes / 4, message);
  Limit(trailer_bytes / 16, &detail->call);
  Limit(trailer_bytes / 16, &detail->result_name);
  Limit(trailer_bytes / 8, &detail->explanation);
  const size_t used = 2 * message->size() + detail->call.size() +
                      detail->result_name.size() + detail->explanation.size() +
                      kFixed;
  Limit(trailer_bytes - std::min(trailer_bytes, used), &detail->log);
}

}  // namespace

v1::Error ToError(const absl::Status& status) {
  return MakeError(status, DetailOf(status, GetErrorDetail(status)));
}

absl::Status FromError(const v1::Error& error) {
  absl::Status status(CanonicalCode(error.code()), error.message());
  for (const google::protobuf::Any& any : error.details()) {
    v1::ErrorDetail proto;
    if (!any.UnpackTo(&proto)) continue;
    SetErrorDetail(FromProto(proto), &status);
    if (proto.fault_epoch() != 0) SetFaultEpoch(proto.fault_epoch(), &status);
    if (proto.suspended()) SetSuspended(&status);
    if (proto.quota().empty()) continue;
    SetQuotaExceeded({.quota = proto.quota(),
                      .limit = proto.quota_limit(),
                      .used = proto.quota_used(),
                      .requested = proto.quota_requested()},
                     &status);
  }
  return status;
}

size_t TrailerBytesOf(const grpc::ServerContextBase& context) {
  const auto text = FindMetadata(context, kTrailerBytesKey);
  uint64_t bytes = 0;
  if (!text.has_value() || text->size() > kTrailerBytesKey.max_bytes ||
      !absl::SimpleAtoi(*text, &bytes)) {
    return kDefaultTrailerBytes;
  }
  return std::clamp<uint64_t>(bytes, kDefaultTrailerBytes, kMaxTrailerBytes);
}

grpc::Status ToGrpcStatus(const absl::Status& status, size_t trailer_bytes) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  std::string message = ToValidUtf8(status.message());
  std::optional<ErrorDetail> detail = GetErrorDetail(status);
  if (!detail.has_value() && !GetQuotaExceeded(status).has_value()) {
    Limit(trailer_bytes / 2, &message);
    return grpc::Status(code, message);
  }
  if (!detail.has_value()) detail.emplace();
  FitTrailers(trailer_bytes, &message, &*detail);
  const v1::Error error =
      MakeError(absl::Status(status.code(), message), DetailOf(status, detail));
  return grpc::Status(code, message, error.SerializeAsString());
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
