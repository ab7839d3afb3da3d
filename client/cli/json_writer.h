// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_JSON_WRITER_H_
#define HOLDFAST_CLIENT_CLI_JSON_WRITER_H_

#include <concepts>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace holdfast::cli {

// Builds one JSON text. The caller must nest the calls correctly; this is not
// checked.
//
//   JsonWriter json;
//   json.BeginObject().Member("a", 1).BeginArray("b").Value("x").EndArray();
//   puts(json.EndObject().text().c_str());
class JsonWriter {
 public:
  JsonWriter& BeginObject(absl::string_view key = "") { return Open(key, '{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray(absl::string_view key = "") { return Open(key, '['); }
  JsonWriter& EndArray() { return Close(']'); }

  // Adds a member to an object, or a value to an array.
  template <typename T>
  JsonWriter& Member(absl::string_view key, const T& value) {
    Key(key);
    return Append(value);
  }
  template <typename T>
  JsonWriter& Value(const T& value) {
    Comma();
    return Append(value);
  }

  const std::string& text() const { return text_; }

 private:
  JsonWriter& Append(bool value);
  JsonWriter& Append(absl::string_view value);
  JsonWriter& Append(const char* value) {
    return Append(absl::string_view(value));
  }
  template <typename T>
  requires std::integral<T> || std::floating_point<T> JsonWriter& Append(
      T value) {
    absl::StrAppend(&text_, value);
    return *this;
  }

  JsonWriter& Open(absl::string_view key, char bracket);
  JsonWriter& Close(char bracket);
  void Key(absl::string_view key);
  void Comma();

  std::string text_;
};

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_JSON_WRITER_H_
