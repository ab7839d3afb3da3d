// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/session_token.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace holdfast {
namespace {

constexpr size_t kDigits = 32;

}  // namespace

absl::StatusOr<std::string> SessionTokenOf(
    const grpc::ServerContextBase& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(kSessionTokenKey);
  if (found == metadata.end()) {
    return absl::UnauthenticatedError(absl::StrCat(
        "the call has no session token (metadata ", kSessionTokenKey, ")"));
  }
  const absl::string_view digits(found->second.data(), found->second.size());
  if (digits.size() != kDigits ||
      !std::all_of(digits.begin(), digits.end(), absl::ascii_isxdigit)) {
    return absl::UnauthenticatedError(
        absl::StrCat("the session token (metadata ", kSessionTokenKey,
                     ") is not ", kDigits, " hexadecimal digits"));
  }
  return absl::HexStringToBytes(digits);
}

bool EqualTokens(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  }
  return difference == 0;
}

}  // namespace holdfast
