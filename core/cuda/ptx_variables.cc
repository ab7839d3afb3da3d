// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/ptx_variables.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace holdfast::cuda {
namespace {

// PTX without its comments and the contents of its strings, in which braces and
// semicolons mean nothing. A string ends with its line at the latest.
std::string WithoutComments(absl::string_view ptx) {
  std::string text;
  text.reserve(ptx.size());
  for (size_t i = 0; i < ptx.size();) {
    if (absl::StartsWith(ptx.substr(i), "//")) {
      i = std::min(ptx.find('\n', i), ptx.size());
    } else if (absl::StartsWith(ptx.substr(i), "/*")) {
      const size_t end = ptx.find("*/", i + 2);
      i = end == absl::string_view::npos ? ptx.size() : end + 2;
    } else if (ptx[i] == '"') {
      const size_t end = std::min(ptx.find_first_of("\"\n", i + 1), ptx.size());
      text.append(2, '"');
      i = std::min(end + (end < ptx.size() && ptx[end] == '"'), ptx.size());
    } else {
      const size_t next = std::min(ptx.find_first_of("/\"", i + 1), ptx.size());
      text.append(ptx.data() + i, next - i);
      i = next;
    }
  }
  return text;
}

// The parts between commas outside of parentheses.
std::vector<absl::string_view> Declarators(absl::string_view declaration) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < declaration.size(); ++i) {
    const char c = declaration[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c != ',' || depth > 0) continue;
    parts.push_back(declaration.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(declaration.substr(begin));
  return parts;
}

// Words end at blanks, and before the dot of a directive.
std::vector<std::string> Words(absl::string_view declarator) {
  declarator = declarator.substr(0, declarator.find('='));
  declarator = declarator.substr(0, declarator.find('['));
  return absl::StrSplit(absl::StrReplaceAll(declarator, {{".", " ."}}),
                        absl::ByAnyChar(" \t\r\n\v\f"), absl::SkipEmpty());
}

// ".visible .global .align 4 .b8 table[16] = , other": table and other. No
// semicolon ends the lines at the head of a module, such as ".target sm_90,
// debug", so they may come before the first variable.
std::vector<std::string> NamesInDeclaration(absl::string_view declaration) {
  bool is_variable = false;
  std::vector<std::string> names;
  for (const absl::string_view declarator : Declarators(declaration)) {
    const std::vector<std::string> words = Words(declarator);
    for (const std::string& word : words) {
      if (word == ".extern" || word == ".texref" || word == ".samplerref" ||
          word == ".surfref" || word == ".func" || word == ".entry") {
        return {};
      }
      if (word == ".global" || word == ".const") is_variable = true;
    }
    if (is_variable && !words.empty() && !absl::StartsWith(words.back(), ".")) {
      names.push_back(words.back());
    }
  }
  return names;
}

// Calls `visit` with each statement that a semicolon ends, and with the number
// of braces around it: 0 outside functions. The values of a variable, which are
// in braces too, are left out.
void ForEachStatement(absl::string_view ptx,
                      absl::FunctionRef<void(int, absl::string_view)> visit) {
  std::string statement;
  bool assigned = false;  // the statement has a value
  int depth = 0;
  int values = 0;  // braces around the values of a variable
  for (const char c : WithoutComments(ptx)) {
    const bool is_brace = c == '{' || c == '}';
    if (values > 0 || (assigned && is_brace)) {
      values = std::max(values + (c == '{') - (c == '}'), 0);
    } else if (c == ';' || is_brace) {
      if (c == ';') visit(depth, statement);
      if (c == '{') ++depth;
      if (c == '}') depth = std::max(depth - 1, 0);
      statement.clear();
      assigned = false;
    } else {
      assigned = assigned || c == '=';
      statement.push_back(c);
    }
  }
}

uint64_t Times(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t Plus(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// ".b8": 1; ".v4": 4; other words: 1. The largest type has 128 bits.
uint64_t Factor(const std::string& word) {
  for (const uint64_t bytes : {2, 4, 8, 16}) {
    if (absl::EndsWith(word, absl::StrCat(bytes * 8))) return bytes;
  }
  if (word == ".f16x2") return 4;
  if (word == ".bf16x2") return 4;
  if (word == ".v2") return 2;
  return word == ".v4" ? 4 : word == ".v8" ? 8 : 1;
}

// "[4][0x10]": 64. nullopt: other than plain numbers.
std::optional<uint64_t> Elements(absl::string_view declarator) {
  declarator = declarator.substr(0, declarator.find('='));
  uint64_t elements = 1;
  for (size_t at = declarator.find('['); at != absl::string_view::npos;
       at = declarator.find('[')) {
    declarator.remove_prefix(at + 1);
    const size_t end = declarator.find(']');
    if (end == absl::string_view::npos) return std::nullopt;
    const absl::string_view text =
        absl::StripAsciiWhitespace(declarator.substr(0, end));
    uint64_t count = 0;
    if (!absl::SimpleAtoi(text, &count) && !absl::SimpleHexAtoi(text, &count)) {
      return std::nullopt;
    }
    elements = Times(elements, count);
  }
  return elements;
}

bool IsOfName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '$' || c == '%';
}

// Removes blanks, and then the letters of a name or number.
absl::string_view ConsumeWord(absl::string_view* text) {
  *text = absl::StripLeadingAsciiWhitespace(*text);
  const auto* const end =
      std::find_if_not(text->begin(), text->end(), IsOfName);
  const absl::string_view word(text->data(), end - text->begin());
  text->remove_prefix(word.size());
  return word;
}

// Removes the rest of a line directive: "1 5 28" or
// "1 5 28, function_name $L__info_string0, inlined_at 1 12 3". No semicolon
// ends it, so an instruction or a declaration may follow.
void ConsumeLine(absl::string_view* text) {
  for (;;) {
    absl::string_view rest = *text;
    const absl::string_view word = ConsumeWord(&rest);
    if (word == "function_name") {
      ConsumeWord(&rest);
    } else if (word.empty() && !absl::ConsumePrefix(&rest, ",") &&
               !absl::ConsumePrefix(&rest, "+")) {
      return;
    } else if (!word.empty() && word != "inlined_at" &&
               !absl::ascii_isdigit(static_cast<unsigned char>(word[0]))) {
      return;
    }
    *text = rest;
  }
}

// Returns the statement without the labels and line directives before it.
absl::string_view WithoutLabels(absl::string_view statement) {
  for (;;) {
    absl::string_view rest = statement;
    const absl::string_view word = ConsumeWord(&rest);
    const absl::string_view at_word = rest;
    if (word.empty() && absl::ConsumePrefix(&rest, ".loc") && !rest.empty() &&
        !IsOfName(rest[0])) {
      ConsumeLine(&rest);
    } else if (word.empty()) {
      return at_word;
    } else {
      rest = absl::StripLeadingAsciiWhitespace(rest);
      if (!absl::ConsumePrefix(&rest, ":")) return statement;
    }
    statement = rest;
  }
}

absl::StatusOr<uint64_t> DeclaredBytes(absl::string_view statement) {
  statement = WithoutLabels(statement);
  if (!absl::StartsWith(statement, ".")) return 0;
  bool is_variable = false;
  uint64_t bytes = 0;
  uint64_t of_element = 1;
  for (const absl::string_view declarator : Declarators(statement)) {
    for (const std::string& word : Words(declarator)) {
      is_variable = is_variable || word == ".global" || word == ".const";
      if (absl::StartsWith(word, ".")) {
        of_element = Times(of_element, Factor(word));
      }
    }
    if (!is_variable) return 0;
    const std::optional<uint64_t> elements = Elements(declarator);
    if (!elements.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a function declares a variable whose size is no plain number: \"",
          statement.substr(0, 100), "\""));
    }
    bytes = Plus(bytes, Times(of_element, *elements));
  }
  return bytes;
}

}  // namespace

std::vector<std::string> NamesInPtx(absl::string_view ptx) {
  std::vector<std::string> names;
  ForEachStatement(ptx, [&](int depth, absl::string_view statement) {
    if (depth > 0) return;
    for (std::string& name : NamesInDeclaration(statement)) {
      names.push_back(std::move(name));
    }
  });
  return names;
}

absl::StatusOr<uint64_t> HiddenBytesInPtx(absl::string_view ptx) {
  absl::StatusOr<uint64_t> bytes = 0;
  ForEachStatement(ptx, [&](int depth, absl::string_view statement) {
    if (depth == 0 || !bytes.ok()) return;
    const absl::StatusOr<uint64_t> more = DeclaredBytes(statement);
    bytes = more.ok() ? Plus(*bytes, *more) : more;
  });
  return bytes;
}

}  // namespace holdfast::cuda
