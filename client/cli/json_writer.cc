// SPDX-License-Identifier: Apache-2.0
#include "client/cli/json_writer.h"

#include "absl/strings/str_format.h"

namespace holdfast::cli {

JsonWriter& JsonWriter::Append(bool value) {
  text_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Append(absl::string_view value) {
  text_ += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&text_, "\\u%04x", c);
    } else {
      text_ += c;
    }
  }
  text_ += '"';
  return *this;
}

JsonWriter& JsonWriter::Open(absl::string_view key, char bracket) {
  if (key.empty()) {
    Comma();
  } else {
    Key(key);
  }
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  text_ += bracket;
  return *this;
}

void JsonWriter::Key(absl::string_view key) {
  Comma();
  Append(key);
  text_ += ": ";
}

// Nothing stands before the first thing in a bracket.
void JsonWriter::Comma() {
  if (text_.empty() || text_.back() == '{' || text_.back() == '[') return;
  text_ += ", ";
}

}  // namespace holdfast::cli
