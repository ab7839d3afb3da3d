// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/signed_token.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "server/tenants/unambiguous_json.h"

namespace holdfast {
namespace {

using nlohmann::json;

constexpr size_t kMaxSubjectBytes = 256;
constexpr double kMaxSeconds = 253402300799;  // the end of the year 9999

template <typename... Parts>
absl::Status Wrong(const Parts&... parts) {
  return absl::UnauthenticatedError(absl::StrCat("the token ", parts...));
}

// A text of the token, for an error's message.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", ToPrintable(text.substr(0, kMaxSubjectBytes)), "'");
}

// The bytes of one part.
absl::StatusOr<std::string> Decode(absl::string_view part,
                                   absl::string_view name) {
  std::optional<std::string> bytes = DecodeBase64Url(part);
  if (bytes.has_value()) return *std::move(bytes);
  return Wrong("has a ", name, " that is not base64url");
}

absl::Status DecodeObject(absl::string_view part, absl::string_view name,
                          json* object) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string text, Decode(part, name));
  auto parsed = ParseObject(text);
  if (!parsed.ok()) {
    return Wrong("has a ", name, " that ", parsed.status().message());
  }
  *object = *std::move(parsed);
  return absl::OkStatus();
}

// Returns nullptr if there is no such member.
const json* Find(const json& object, const std::string& name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

absl::StatusOr<std::string> TextOf(const json& claims,
                                   const std::string& name) {
  const json* const claim = Find(claims, name);
  if (claim == nullptr || !claim->is_string()) {
    return Wrong("has no claim '", name, "' that is a string");
  }
  return claim->get<std::string>();
}

// A string, or an array of strings.
absl::StatusOr<std::vector<std::string>> TextsOf(const json& claim,
                                                 absl::string_view name) {
  if (claim.is_string()) return std::vector{claim.get<std::string>()};
  if (claim.is_array() &&
      std::all_of(claim.begin(), claim.end(),
                  [](const json& element) { return element.is_string(); })) {
    return claim.get<std::vector<std::string>>();
  }
  return Wrong("has a claim ", Quoted(name),
               " that is neither a string nor an array of strings");
}

absl::StatusOr<absl::Time> TimeOf(const json& claim, absl::string_view name) {
  const double seconds = claim.is_number() ? claim.get<double>() : -1;
  if (seconds >= 0 && seconds <= kMaxSeconds) {
    return absl::UnixEpoch() + absl::Seconds(seconds);
  }
  return Wrong("has a claim '", name, "' that is no time");
}

// Returns the keys that may have signed the token, at least one: those of its
// algorithm, and of its `kid` if it has one. A key without an id, of a PEM
// file, may go by any; it counts only where no key has the id.
absl::StatusOr<std::vector<const TokenKey*>> SelectKeys(
    const json& header, const std::string& algorithm, const TokenRules& rules) {
  std::vector<const TokenKey*> keys, unnamed;
  const json* const id = Find(header, "kid");
  if (id != nullptr && !id->is_string()) {
    return Wrong("has a 'kid' that is no string");
  }
  bool any = false;
  for (const TokenKey& key : rules.keys) {
    if (key.algorithm() != algorithm) continue;
    any = true;
    if (id == nullptr || key.id() == id->get_ref<const std::string&>()) {
      keys.push_back(&key);
    } else if (key.id().empty()) {
      unnamed.push_back(&key);
    }
  }
  if (keys.empty()) keys = std::move(unnamed);
  if (!keys.empty()) return keys;
  if (any) {
    return Wrong("is signed by a key that the policy does not have: ",
                 Quoted(id->get_ref<const std::string&>()));
  }
  return Wrong("names an algorithm that goes with no key of the policy: ",
               Quoted(algorithm));
}

absl::Status CheckSignature(const std::vector<absl::string_view>& parts,
                            absl::string_view token, const TokenRules& rules) {
  json header;
  HOLDFAST_RETURN_IF_ERROR(DecodeObject(parts[0], "header", &header));
  // An extension that must be understood; none is.
  if (header.contains("crit")) return Wrong("has a header with 'crit'");
  const json* const named = Find(header, "alg");
  if (named == nullptr || !named->is_string()) {
    return Wrong("names no algorithm");
  }
  const auto& algorithm = named->get_ref<const std::string&>();
  HOLDFAST_ASSIGN_OR_RETURN(const auto keys,
                            SelectKeys(header, algorithm, rules));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string signature,
                            Decode(parts[2], "signature"));
  const absl::string_view text = token.substr(0, token.rfind('.'));
  for (const TokenKey* const key : keys) {
    if (key->Verifies(text, signature)) return absl::OkStatus();
  }
  return Wrong("is signed by none of the policy's keys");
}

absl::Status CheckIssuer(const json& claims, const TokenRules& rules) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string issuer, TextOf(claims, "iss"));
  if (issuer != rules.issuer) {
    return Wrong("is of the issuer ", Quoted(issuer), ", not of ",
                 Quoted(rules.issuer));
  }
  const json* const named = Find(claims, "aud");
  if (named == nullptr) return Wrong("is for no audience");
  HOLDFAST_ASSIGN_OR_RETURN(const auto audiences, TextsOf(*named, "aud"));
  if (std::find(audiences.begin(), audiences.end(), rules.audience) !=
      audiences.end()) {
    return absl::OkStatus();
  }
  return Wrong("is not for the audience ", Quoted(rules.audience));
}

absl::StatusOr<TokenIdentity> IdentityOf(const json& claims,
                                         const TokenRules& rules) {
  TokenIdentity identity;
  HOLDFAST_ASSIGN_OR_RETURN(identity.subject, TextOf(claims, "sub"));
  const bool plain =
      std::none_of(identity.subject.begin(), identity.subject.end(),
                   [](unsigned char c) { return absl::ascii_iscntrl(c); });
  if (identity.subject.empty() || identity.subject.size() > kMaxSubjectBytes ||
      !plain) {
    return Wrong("has a subject of ", identity.subject.size(),
                 " bytes; it must have 1 to ", kMaxSubjectBytes,
                 " and no control character");
  }
  const json* const groups = Find(claims, rules.groups_claim);
  if (groups == nullptr) return identity;
  HOLDFAST_ASSIGN_OR_RETURN(identity.groups,
                            TextsOf(*groups, rules.groups_claim));
  return identity;
}

}  // namespace

absl::StatusOr<SignedToken> VerifyToken(absl::string_view token,
                                        const TokenRules& rules) {
  const std::vector<absl::string_view> parts = absl::StrSplit(token, '.');
  if (parts.size() != 3) return Wrong("has ", parts.size(), " parts, not 3");
  HOLDFAST_RETURN_IF_ERROR(CheckSignature(parts, token, rules));
  json claims;
  HOLDFAST_RETURN_IF_ERROR(DecodeObject(parts[1], "payload", &claims));
  HOLDFAST_RETURN_IF_ERROR(CheckIssuer(claims, rules));
  SignedToken verified;
  HOLDFAST_ASSIGN_OR_RETURN(verified.identity, IdentityOf(claims, rules));
  const json* const expires = Find(claims, "exp");
  if (expires == nullptr) return Wrong("never expires, which is not accepted");
  HOLDFAST_ASSIGN_OR_RETURN(verified.expires, TimeOf(*expires, "exp"));
  verified.expires += rules.leeway;
  verified.not_before = absl::InfinitePast();
  if (const json* const not_before = Find(claims, "nbf")) {
    HOLDFAST_ASSIGN_OR_RETURN(verified.not_before, TimeOf(*not_before, "nbf"));
    verified.not_before -= rules.leeway;
  }
  return verified;
}

absl::Status CheckTime(const SignedToken& token, absl::Time now) {
  if (now >= token.expires) return Wrong("has expired");
  if (now < token.not_before) return Wrong("is not valid yet");
  return absl::OkStatus();
}

}  // namespace holdfast
