// SPDX-License-Identifier: Apache-2.0
#include "core/base/source_name.h"

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace holdfast {
namespace {

constexpr absl::string_view kAnonymous = "(anonymous namespace)";

constexpr absl::string_view kMangled = "_Z";

// Bytes of a symbol; a longer one is no easier to read with its source's name.
constexpr size_t kMaxSymbol = 1024;

// Of "void a::scale<float>(float*)", where the parameters begin and the name
// does: outside of template arguments.
absl::string_view WithoutParameters(absl::string_view function) {
  size_t depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    if (absl::StartsWith(function.substr(i), kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (function[i] == '<') {
      ++depth;
    } else if (function[i] == '>' && depth > 0) {
      --depth;
    } else if (depth == 0 && function[i] == ' ') {
      begin = i + 1;
    } else if (depth == 0 && function[i] == '(') {
      return function.substr(begin, i - begin);
    }
  }
  return function;
}

bool IsOfSymbol(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == '$';
}

// The symbol that the text begins with.
absl::string_view SymbolAt(absl::string_view text) {
  size_t length = 0;
  while (length < text.size() && IsOfSymbol(text[length])) ++length;
  return text.substr(0, length);
}

}  // namespace

std::string SourceName(absl::string_view symbol) {
  if (!absl::StartsWith(symbol, "_Z")) return "";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr,
                          &status),
      &std::free);
  return status == 0 ? std::string(WithoutParameters(name.get())) : "";
}

std::string WithSourceNames(absl::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t at = text.find(kMangled);
    if (at == absl::string_view::npos) break;
    const bool begins = at == 0 || !IsOfSymbol(text[at - 1]);
    absl::StrAppend(&result, text.substr(0, at));
    const absl::string_view symbol = SymbolAt(text.substr(at));
    text.remove_prefix(at + symbol.size());
    const std::string name = begins && symbol.size() <= kMaxSymbol
                                 ? SourceName(symbol)
                                 : std::string();
    const bool is_told = absl::StartsWith(text, absl::StrCat(" (", name, ")"));
    absl::StrAppend(&result, name.empty() || is_told ? symbol : name);
  }
  return absl::StrCat(result, text);
}

}  // namespace holdfast
