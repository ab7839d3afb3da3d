// SPDX-License-Identifier: Apache-2.0
//
// Strict parsers of JSON and base64url for tokens and keys. They accept no text
// with two meanings, because two programs could otherwise take one token for
// tokens of different holders.
#ifndef HOLDFAST_SERVER_TENANTS_UNAMBIGUOUS_JSON_H_
#define HOLDFAST_SERVER_TENANTS_UNAMBIGUOUS_JSON_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the bytes of base64url; nullopt: the text is malformed, or has
// padding, white space or unused bits that are not 0.
std::optional<std::string> DecodeBase64Url(absl::string_view text);

// Returns the JSON object of a text. INVALID_ARGUMENT: the text "is no object",
// or an object in it "names a member twice"; the message has these words.
absl::StatusOr<nlohmann::json> ParseObject(absl::string_view text);

// Returns the place of the first error, "LINE:COLUMN"; empty if the text is
// JSON.
std::string PlaceOfJsonError(absl::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_UNAMBIGUOUS_JSON_H_
