// SPDX-License-Identifier: Apache-2.0
#include "client/cli/parameter_types.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/base/source_name.h"

namespace holdfast::cli {
namespace {

constexpr absl::string_view kKernel = "__global__";

bool IsOfWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// C++ without comments, whose places are spaces.
std::string WithoutComments(absl::string_view source) {
  std::string text(source);
  for (size_t at = 0; (at = text.find('/', at)) != std::string::npos; ++at) {
    const bool is_line = text.compare(at, 2, "//") == 0;
    if (!is_line && text.compare(at, 2, "/*") != 0) continue;
    const size_t end = is_line ? text.find('\n', at) : text.find("*/", at + 2);
    const size_t last =
        end == std::string::npos ? text.size() : end + (is_line ? 0 : 2);
    std::fill(text.begin() + static_cast<ptrdiff_t>(at),
              text.begin() + static_cast<ptrdiff_t>(last), ' ');
  }
  return text;
}

// Returns the text between the parentheses after `name`. `text` is the source
// after "__global__". nullopt: `text` declares another kernel.
std::optional<absl::string_view> Parameters(absl::string_view text,
                                            absl::string_view name) {
  const absl::string_view head = text.substr(0, text.find('{'));
  const size_t at = head.find(absl::StrCat(name, "("));
  if (at == absl::string_view::npos || at == 0 || IsOfWord(head[at - 1]) ||
      absl::StrContains(head.substr(0, at), ';')) {
    return std::nullopt;
  }
  const absl::string_view list = head.substr(at + name.size() + 1);
  return list.substr(0, list.find(')'));
}

std::vector<std::string> Words(absl::string_view type) {
  std::string text = absl::StrReplaceAll(type, {{"*", " * "}, {"&", " & "}});
  std::vector<std::string> words =
      absl::StrSplit(text, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty());
  words.erase(std::remove_if(words.begin(), words.end(),
                             [](const std::string& word) {
                               return word == "const" || word == "volatile" ||
                                      word == "__restrict__" ||
                                      word == "__restrict";
                             }),
              words.end());
  return words;
}

// The type of "const float* x".
std::string TypeOf(absl::string_view parameter) {
  std::vector<std::string> words = Words(parameter);
  if (words.size() > 1 && IsOfWord(words.back().front())) words.pop_back();
  return absl::StrReplaceAll(absl::StrJoin(words, " "), {{" *", "*"}});
}

// A type of number: its size in bytes, and whether it is a float.
struct Number {
  size_t size;
  bool is_float;
};

std::optional<Number> NumberOf(absl::string_view type) {
  constexpr struct {
    absl::string_view name;
    Number number;
  } kTypes[] = {
      {"float", {4, true}},           {"double", {8, true}},
      {"__half", {2, true}},          {"half", {2, true}},
      {"__nv_bfloat16", {2, true}},   {"short", {2, false}},
      {"unsigned short", {2, false}}, {"int", {4, false}},
      {"unsigned int", {4, false}},   {"unsigned", {4, false}},
      {"long", {8, false}},           {"unsigned long", {8, false}},
      {"long long", {8, false}},      {"unsigned long long", {8, false}},
      {"size_t", {8, false}},         {"int16_t", {2, false}},
      {"uint16_t", {2, false}},       {"int32_t", {4, false}},
      {"uint32_t", {4, false}},       {"int64_t", {8, false}},
      {"uint64_t", {8, false}},
  };
  for (const auto& known : kTypes) {
    if (known.name == type) return known.number;
  }
  return std::nullopt;
}

Number NumberOf(ElementType type) {
  switch (type) {
    case ElementType::kF16:
    case ElementType::kBF16:
    case ElementType::kF32:
    case ElementType::kF64:
      return {Size(type), true};
    // Pairs of floats.
    case ElementType::kC64:
    case ElementType::kC128:
      return {Size(type) / 2, true};
    default:
      return {Size(type), false};
  }
}

}  // namespace

std::vector<std::string> ParameterTypes(absl::string_view symbol,
                                        absl::string_view source) {
  if (!SourceName(symbol).empty()) return SourceParameters(symbol);
  const std::string text = WithoutComments(source);
  for (const absl::string_view part : absl::StrSplit(text, kKernel)) {
    if (part.data() == text.data()) continue;  // before the first
    const auto list = Parameters(part, symbol);
    if (!list.has_value()) continue;
    std::vector<std::string> types;
    for (const absl::string_view one :
         absl::StrSplit(*list, ',', absl::SkipWhitespace())) {
      types.push_back(TypeOf(one));
    }
    return types;
  }
  return {};
}

bool Fits(ElementType type, bool is_scalar, absl::string_view parameter) {
  std::vector<std::string> words = Words(parameter);
  const bool is_pointer = !words.empty() && words.back() == "*";
  if (is_pointer == is_scalar) return true;  // told by its size
  if (is_pointer) words.pop_back();
  const auto wanted = NumberOf(absl::StrJoin(words, " "));
  const Number given = NumberOf(type);
  // A half may come as its bits, which NumPy has for bfloat16.
  if (!wanted.has_value() || given.size == 1) return true;
  if (wanted->size != given.size) return false;
  return wanted->is_float == given.is_float || given.size == 2;
}

}  // namespace holdfast::cli
