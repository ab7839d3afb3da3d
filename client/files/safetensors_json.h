// SPDX-License-Identifier: Apache-2.0
//
// Parses the JSON of a safetensors header, without interpreting it.
#ifndef HOLDFAST_CLIENT_FILES_SAFETENSORS_JSON_H_
#define HOLDFAST_CLIENT_FILES_SAFETENSORS_JSON_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// One entry as it stands in the text. Its values are not checked.
struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;
  // The offsets of the array's first byte and of the byte behind its last.
  std::vector<uint64_t> data_offsets;
};

struct HeaderJson {
  // The entries in the order of the text. Their names differ.
  std::vector<HeaderEntry> entries;
  std::map<std::string, std::string> metadata;
};

// Parses the text event by event, so that deeply nested or repetitive text
// takes no memory. INVALID_ARGUMENT: the text is not JSON of this form; the
// message has the place. OUT_OF_RANGE: there are more than kMaxStoredArrays
// entries (the rest of the text is not read then), or more than 32 dimensions.
absl::StatusOr<HeaderJson> ParseHeaderJson(absl::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_FILES_SAFETENSORS_JSON_H_
