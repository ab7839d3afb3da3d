// SPDX-License-Identifier: Apache-2.0
#include "client/cli/generated_array.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {

std::optional<Elements> ParseElements(absl::string_view name) {
  if (name == "zeros") return Elements::kZeros;
  if (name == "ones") return Elements::kOnes;
  if (name == "arange") return Elements::kArange;
  return std::nullopt;
}

absl::StatusOr<std::string> Generate(Elements elements, ElementType type,
                                     uint64_t count) {
  if (count > kMaxGeneratedBytes / Size(type)) {
    return absl::OutOfRangeError(absl::StrCat(count, " elements of ",
                                              Name(type), ": the limit is ",
                                              kMaxGeneratedBytes, " bytes"));
  }
  if (elements == Elements::kZeros) {
    return std::string(count * Size(type), '\0');
  }
  std::string bytes;
  bytes.reserve(count * Size(type));
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t value = elements == Elements::kOnes ? 1 : i;
    HOLDFAST_ASSIGN_OR_RETURN(const std::string element,
                              ParseScalar(type, absl::StrCat(value)));
    bytes += element;
  }
  return bytes;
}

}  // namespace holdfast::cli
