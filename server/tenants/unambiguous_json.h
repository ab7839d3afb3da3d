// SPDX-License-Identifier: Apache-2.0
//
// Strict parsers of JSON and base64url for tokens and keys. They accept no text
// with two meanings, because two readers could otherwise trust different
// holders of one token.
#ifndef HOLDFAST_SERVER_TENANTS_UNAMBIGUOUS_JSON_H_
#define HOLDFAST_SERVER_TENANTS_UNAMBIGUOUS_JSON_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// Decodes base64url. nullopt: the text is malformed, or has padding, white
// space or unused bits that are not 0.
std::optional<std::string> DecodeBase64Url(absl::string_view text);

// Parses an object. INVALID_ARGUMENT: the text "is no object", or an object in
// it "names a member twice".
absl::StatusOr<nlohmann::json> ParseObject(absl::string_view text);

// Returns the place of the first error, "LINE:COLUMN"; empty if the text is
// JSON.
std::string PlaceOfJsonError(absl::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_UNAMBIGUOUS_JSON_H_
