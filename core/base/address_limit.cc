// SPDX-License-Identifier: Apache-2.0
#include "core/base/address_limit.h"

#include <sys/resource.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

rlimit Limit() {
  rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(RLIMIT_AS, &limit);
  return limit;
}

std::string Describe(uint64_t bytes) {
  return absl::StrCat(
      "this process may have ", bytes,
      " bytes of addresses, and one that uses a device reserves more: start "
      "the daemon with `ulimit -v unlimited`, or with LimitAS=infinity in its "
      "systemd unit");
}

}  // namespace

void RaiseAddressLimit() {
  rlimit limit = Limit();
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_AS, &limit);
}

absl::Status CheckAddressLimit(uint64_t least) {
  const rlimit limit = Limit();
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= least) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(Describe(limit.rlim_cur));
}

absl::Status ExplainAddressLimit(const absl::Status& status) {
  const rlimit limit = Limit();
  if (status.ok() || limit.rlim_cur == RLIM_INFINITY) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), "; ",
                                                  Describe(limit.rlim_cur)));
}

}  // namespace holdfast
