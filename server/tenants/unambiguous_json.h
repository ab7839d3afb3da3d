// SPDX-License-Identifier: Apache-2.0
//
// JSON and base64url in which no text has two meanings, for tokens and keys:
// two readers that understood them differently would trust different people.
#ifndef HOLDFAST_SERVER_TENANTS_UNAMBIGUOUS_JSON_H_
#define HOLDFAST_SERVER_TENANTS_UNAMBIGUOUS_JSON_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the bytes of a base64url text without padding, white space or bits
// that do not count; nullopt if it is none.
std::optional<std::string> DecodeBase64Url(absl::string_view text);

// Returns an object, in which no object names a member twice. INVALID_ARGUMENT:
// "is no object", "names a member twice".
absl::StatusOr<nlohmann::json> ParseObject(absl::string_view text);

// Returns where the text stops being JSON: "LINE:COLUMN". Empty if it is JSON.
std::string PlaceOfJsonError(absl::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TENANTS_UNAMBIGUOUS_JSON_H_
