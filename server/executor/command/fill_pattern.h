// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_COMMAND_FILL_PATTERN_H_
#define HOLDFAST_SERVER_EXECUTOR_COMMAND_FILL_PATTERN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace holdfast::executor {

// The low `bytes` bytes of `value`, repeated.
struct FillPattern {
  uint32_t value = 0;
  uint32_t bytes = 0;  // 1, 2 or 4
};

// Returns the pattern of a FillBuffer or FillRect message. INVALID_ARGUMENT:
// the message has no pattern.
template <typename Command>
absl::StatusOr<FillPattern> PatternOf(const Command& command) {
  switch (command.pattern_case()) {
    case Command::kByte:
      return FillPattern{command.byte(), 1};
    case Command::kHalfWord:
      return FillPattern{command.half_word(), 2};
    case Command::kWord:
      return FillPattern{command.word(), 4};
    case Command::PATTERN_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a fill without a pattern");
}

// Checks the offset of a fill in its buffer. INVALID_ARGUMENT: `offset` is not
// a multiple of the pattern's size.
inline absl::Status CheckAlignment(const FillPattern& pattern,
                                   uint64_t offset) {
  if (offset % pattern.bytes == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a fill at offset ", offset,
      ", which is not a multiple of its pattern's ", pattern.bytes, " bytes"));
}

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_COMMAND_FILL_PATTERN_H_
