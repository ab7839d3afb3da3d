// SPDX-License-Identifier: Apache-2.0
//
// The JSON of a safetensors header, apart from what it means.
#ifndef HOLDFAST_CLIENT_FILES_SAFETENSORS_JSON_H_
#define HOLDFAST_CLIENT_FILES_SAFETENSORS_JSON_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// One entry as it is written; nothing in it is checked against anything.
struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;
  // From where to where.
  std::vector<uint64_t> data_offsets;
};

struct HeaderJson {
  // In the text's order; names differ.
  std::vector<HeaderEntry> entries;
  std::map<std::string, std::string> metadata;
};

// Reads event by event, so that neither depth nor repetition of the text costs
// memory. INVALID_ARGUMENT: not JSON of this form, with the place.
// OUT_OF_RANGE: more entries than kMaxStoredArrays, or more than 32 dimensions.
absl::StatusOr<HeaderJson> ParseHeaderJson(absl::string_view text);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_FILES_SAFETENSORS_JSON_H_
