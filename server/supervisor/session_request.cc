// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_request.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace holdfast::supervisor {
namespace {

absl::Duration ToDuration(const google::protobuf::Duration& proto) {
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

absl::StatusOr<absl::Duration> GraceOf(const v1::OpenSessionRequest& request) {
  const absl::Duration grace = ToDuration(request.reconnect_grace());
  if (grace < absl::ZeroDuration() || grace > kMaxGrace) {
    return absl::InvalidArgumentError(absl::StrCat("reconnect_grace is ",
                                                   absl::FormatDuration(grace),
                                                   ", allowed is 0 to 1 hour"));
  }
  return grace;
}

// A limit of time, and where it comes from. 0: there is none.
struct TimeLimit {
  absl::Duration limit;
  std::string set_by;
};

// The lower of two.
TimeLimit Least(TimeLimit a, TimeLimit b) {
  if (a.limit == absl::ZeroDuration()) return b;
  return b.limit == absl::ZeroDuration() || a.limit <= b.limit ? a : b;
}

absl::Status CheckLength(absl::string_view what, const std::string& text,
                         size_t limit) {
  if (text.size() <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", text.size(), " bytes, the limit is ", limit));
}

}  // namespace

absl::Status CheckRequest(const v1::OpenSessionRequest& request) {
  if (request.protocol_version() != kProtocolVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "protocol version ", request.protocol_version(),
        " is not supported; this daemon speaks version ", kProtocolVersion));
  }
  HOLDFAST_RETURN_IF_ERROR(
      CheckLength("the session's name", request.name(), kMaxSessionName));
  HOLDFAST_RETURN_IF_ERROR(CheckLength(
      "ClientInfo.program", request.client().program(), kMaxClientInfoBytes));
  HOLDFAST_RETURN_IF_ERROR(CheckLength(
      "ClientInfo.host", request.client().host(), kMaxClientInfoBytes));
  if (request.devices_size() > kMaxRequestedDevices) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request names ", request.devices_size(),
                     " devices, the limit is ", kMaxRequestedDevices));
  }
  if (!v1::RecoveryPolicy_IsValid(request.recover())) {
    return absl::InvalidArgumentError(
        absl::StrCat("recover is ", request.recover(), ", which is no policy"));
  }
  return GraceOf(request).status();
}

absl::StatusOr<absl::Duration> LifetimeOf(const v1::OpenSessionRequest& request,
                                          absl::Duration limit) {
  HOLDFAST_ASSIGN_OR_RETURN(const absl::Duration grace, GraceOf(request));
  const absl::Duration detached = ToDuration(request.detached_lifetime());
  if (detached > limit && limit == absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "no session of this daemon lives on without a client: its operator "
        "allows it by --detached-session-limit");
  }
  if (detached < absl::ZeroDuration() || detached > limit) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the session is to live ", absl::FormatDuration(detached),
        " without a client, the daemon allows ", absl::FormatDuration(limit),
        " (detached_lifetime, --detached-session-limit)"));
  }
  return std::max(grace, detached);
}

bool IsDetachable(const v1::OpenSessionRequest& request) {
  return ToDuration(request.detached_lifetime()) > absl::ZeroDuration();
}

v1::RecoveryPolicy PolicyOf(const v1::OpenSessionRequest& request) {
  return request.recover() == v1::RECOVERY_POLICY_UNSPECIFIED
             ? v1::RECOVERY_POLICY_ALWAYS
             : request.recover();
}

absl::Status SetKernelTimeLimit(const v1::OpenSessionRequest& request,
                                const Tenant& tenant, absl::Duration limit,
                                internal::Assign* assign) {
  const absl::Duration wish = ToDuration(request.kernel_time_limit());
  if (wish < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("kernel_time_limit is ", absl::FormatDuration(wish),
                     ", which is less than nothing"));
  }
  const TimeLimit least =
      Least(Least({limit, "--kernel-time-limit"},
                  {tenant.kernel_time_limit(),
                   absl::StrCat("kernel-time-limit of tenant ", tenant.name(),
                                " in the policy")}),
            {wish, "kernel_time_limit of OpenSession"});
  assign->set_kernel_time_limit_ns(absl::ToInt64Nanoseconds(least.limit));
  assign->set_kernel_time_limit_set_by(least.set_by);
  return absl::OkStatus();
}

internal::AccountLimits LimitsOf(const v1::OpenSessionRequest& request,
                                 const SessionQuotas& quotas,
                                 const Tenant& tenant) {
  internal::AccountLimits limits;
  const uint64_t wish = request.memory_limit();
  const bool by_client =
      wish != 0 && (quotas.device_bytes == 0 || wish < quotas.device_bytes);
  limits.set_device_bytes(by_client ? wish : quotas.device_bytes);
  limits.set_device_bytes_set_by(by_client ? "memory_limit of OpenSession"
                                           : "--session-memory");
  limits.set_pinned_bytes(quotas.pinned_bytes);
  limits.set_arena_bytes(quotas.arena_bytes);
  limits.set_handles(quotas.handles);
  limits.set_outstanding_commands(quotas.outstanding_commands);
  limits.set_reserve_buffers(tenant.counts_buffers());
  return limits;
}

std::string LabelOf(const v1::OpenSessionRequest& request) {
  const v1::ClientInfo& client = request.client();
  std::string label;
  if (!request.name().empty())
    absl::StrAppend(&label, " \"", request.name(), "\"");
  if (!client.program().empty()) {
    absl::StrAppend(&label, " for ", client.program(), "[", client.pid(), "]");
  }
  return label;
}

}  // namespace holdfast::supervisor
