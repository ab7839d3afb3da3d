// SPDX-License-Identifier: Apache-2.0
#include "core/base/collection_limits.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"

namespace holdfast {

absl::Status CheckCollectionName(absl::string_view name) {
  bool good = !name.empty() && name.size() <= kMaxCollectionName;
  for (const char c : name) {
    good &= absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
            absl::StrContains("._-/", absl::string_view(&c, 1));
  }
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", ToPrintable(name.substr(0, kMaxCollectionName)),
                   "\" is no name of a collection: 1 to ", kMaxCollectionName,
                   " letters, digits and any of ._-/"));
}

absl::Status CheckArrayName(absl::string_view name) {
  if (!name.empty() && name.size() <= kMaxArrayName) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a name of ", name.size(),
                                                 " bytes; 1 to ", kMaxArrayName,
                                                 " are allowed"));
}

absl::Status CheckMetadataSize(absl::string_view collection, size_t bytes) {
  if (bytes <= kMaxCollectionMetadata) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "metadata of collection \"", ToPrintable(collection), "\" has ", bytes,
      " bytes; limit: ", kMaxCollectionMetadata));
}

}  // namespace holdfast
