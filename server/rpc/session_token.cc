// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/session_token.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/rpc/metadata.h"

namespace holdfast {

absl::StatusOr<std::string> SessionTokenOf(
    const grpc::ServerContextBase& context) {
  const auto digits = FindMetadata(context, kSessionTokenKey);
  if (!digits.has_value()) {
    return absl::UnauthenticatedError(
        absl::StrCat("the call has no session token (metadata ",
                     kSessionTokenKey.name, ")"));
  }
  if (digits->size() != kSessionTokenKey.max_bytes ||
      !std::all_of(digits->begin(), digits->end(), absl::ascii_isxdigit)) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the session token (metadata ", kSessionTokenKey.name, ") is not ",
        kSessionTokenKey.max_bytes, " hexadecimal digits"));
  }
  return absl::HexStringToBytes(*digits);
}

}  // namespace holdfast
