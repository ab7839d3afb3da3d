// SPDX-License-Identifier: Apache-2.0
//
// Arrays that are generated instead of read from a file: in:arange:f32[1000].
#ifndef HOLDFAST_CLIENT_CLI_GENERATED_ARRAY_H_
#define HOLDFAST_CLIENT_CLI_GENERATED_ARRAY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cli/element_type.h"

namespace holdfast::cli {

// The values of generated elements: all 0, all 1, or 0, 1, 2, ... in C order.
enum class Elements { kZeros, kOnes, kArange };

// Parses "zeros", "ones" or "arange". Returns nullopt for any other name.
std::optional<Elements> ParseElements(absl::string_view name);

inline constexpr uint64_t kMaxGeneratedBytes = uint64_t{16} << 30;

// Returns the bytes of the elements. INVALID_ARGUMENT: a value is out of the
// type's range. OUT_OF_RANGE: the elements have more than kMaxGeneratedBytes.
absl::StatusOr<std::string> Generate(Elements elements, ElementType type,
                                     uint64_t count);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_GENERATED_ARRAY_H_
