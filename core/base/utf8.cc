// SPDX-License-Identifier: Apache-2.0
#include "core/base/utf8.h"

#include <cstddef>
#include <cstdint>

namespace holdfast {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

bool IsContinuation(uint8_t byte) { return (byte & 0xC0) == 0x80; }

// Bytes of the well-formed character at the start of `text`; 0 if there is
// none. Overlong forms, surrogates and values over U+10FFFF are not.
size_t CharacterSize(absl::string_view text) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  const size_t size = first < 0xC2   ? 0
                      : first < 0xE0 ? 2
                      : first < 0xF0 ? 3
                      : first < 0xF5 ? 4
                                     : 0;
  if (size == 0 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if (!IsContinuation(at(i))) return 0;
  }
  const uint8_t second = at(1);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second > 0x9F) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return size;
}

}  // namespace

std::string ToValidUtf8(absl::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) {
      valid.append(kReplacement);
    } else {
      valid.append(text.data(), size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return valid;
}

bool IsValidUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

}  // namespace holdfast
