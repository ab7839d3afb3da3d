// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/signed_token.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

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

// The bytes of one part. Only one text stands for given bytes: no padding, no
// white space, no bits that do not count.
absl::StatusOr<std::string> Decode(absl::string_view part,
                                   absl::string_view name) {
  std::string bytes;
  if (!part.empty() && absl::WebSafeBase64Unescape(part, &bytes) &&
      absl::WebSafeBase64Escape(bytes) == part) {
    return bytes;
  }
  return Wrong("has a ", name, " that is not base64url");
}

// Tells whether an object names a member twice: one reader would take the first
// and another the last.
class DuplicateFinder {
 public:
  // Takes note of an event of nlohmann's parser. Returns true: all is kept.
  bool See(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) names_.emplace_back();
    if (event == json::parse_event_t::object_end) names_.pop_back();
    if (event == json::parse_event_t::key) {
      found_ |= !names_.back().insert(parsed.get<std::string>()).second;
    }
    return true;
  }
  bool found() const { return found_; }

 private:
  std::vector<std::set<std::string>> names_;  // of each open object
  bool found_ = false;
};

absl::Status DecodeObject(absl::string_view part, absl::string_view name,
                          json* object) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string text, Decode(part, name));
  DuplicateFinder duplicates;
  *object = json::parse(
      text,
      [&duplicates](int, json::parse_event_t event, json& parsed) {
        return duplicates.See(event, parsed);
      },
      /*allow_exceptions=*/false);
  if (!object->is_object()) return Wrong("has a ", name, " that is no object");
  if (duplicates.found()) {
    return Wrong("has a ", name, " that names a member twice");
  }
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
  const auto fits = [&algorithm](const TokenKey& key) {
    return key.algorithm() == algorithm;
  };
  if (std::none_of(rules.keys.begin(), rules.keys.end(), fits)) {
    return Wrong("names an algorithm that goes with no key of the policy: ",
                 Quoted(algorithm));
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string signature,
                            Decode(parts[2], "signature"));
  const absl::string_view text = token.substr(0, token.rfind('.'));
  for (const TokenKey& key : rules.keys) {
    if (fits(key) && key.Verifies(text, signature)) return absl::OkStatus();
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
