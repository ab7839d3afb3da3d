// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/base/utf8.h"

namespace holdfast {
namespace {

size_t CharacterSize(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xE0) return 2;
  return first < 0xF0 ? 3 : 4;
}

// `character` is one well-formed character of more than one byte.
bool IsObeyed(absl::string_view character) {
  const auto byte = [&](size_t i) {
    return static_cast<unsigned char>(character[i]);
  };
  if (byte(0) == 0xC2) return byte(1) < 0xA0;   // U+0080 to U+009F
  if (byte(0) == 0xD8) return byte(1) == 0x9C;  // U+061C
  if (byte(0) != 0xE2) return false;
  if (byte(1) == 0x80) {
    // U+200E, U+200F; U+2028 to U+202E
    return byte(2) == 0x8E || byte(2) == 0x8F ||
           (byte(2) >= 0xA8 && byte(2) <= 0xAE);
  }
  return byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;  // U+2066-2069
}

void AppendEscaped(absl::string_view bytes, std::string* out) {
  for (const char c : bytes) {
    absl::StrAppend(out, "\\x",
                    absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
  }
}

void AppendAscii(char c, std::string* out) {
  if (c == '\n') {
    out->append("\\n");
  } else if (c == '\r') {
    out->append("\\r");
  } else if (c == '\t') {
    out->append("\\t");
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
    AppendEscaped({&c, 1}, out);
  } else {
    out->push_back(c);
  }
}

}  // namespace

std::string ToPrintable(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t size = std::min(
        CharacterSize(static_cast<unsigned char>(text[0])), text.size());
    const absl::string_view character = text.substr(0, size);
    if (size == 1 && static_cast<unsigned char>(text[0]) < 0x80) {
      AppendAscii(text[0], &out);
    } else if (!IsValidUtf8(character)) {
      AppendEscaped(text.substr(0, 1), &out);
      text.remove_prefix(1);
      continue;
    } else if (IsObeyed(character)) {
      AppendEscaped(character, &out);
    } else {
      absl::StrAppend(&out, character);
    }
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace holdfast
