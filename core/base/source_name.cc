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

// The most bytes of a symbol, and of its name while it is demangled. A longer
// name is no easier to read than its symbol.
constexpr size_t kMaxSymbol = 1024;
constexpr size_t kMaxDemangled = size_t{1} << 20;

// Returns how often the name of a symbol may double while it is demangled, at
// most. A reference to an earlier part, such as S_, S0_ or T_, doubles the name
// once. The expansion of a pack, Dp, repeats a part for each type of the pack,
// which has fewer than 2^10 types. Letters of names may look like either.
size_t Doublings(absl::string_view symbol) {
  size_t count = 0;
  for (size_t i = 0; i < symbol.size(); ++i) {
    if (absl::StartsWith(symbol.substr(i), "Dp")) count += 10;
    if (symbol[i] != 'S' && symbol[i] != 'T') continue;
    size_t end = i + 1;
    while (end < symbol.size() &&
           (absl::ascii_isdigit(static_cast<unsigned char>(symbol[end])) ||
            absl::ascii_isupper(static_cast<unsigned char>(symbol[end])))) {
      ++end;
    }
    if (end < symbol.size() && symbol[end] == '_') ++count;
  }
  return count;
}

// Symbols come from modules of other users: 250 bytes could take gigabytes.
bool IsShort(absl::string_view symbol) {
  if (symbol.size() > kMaxSymbol) return false;
  const size_t doublings = Doublings(symbol);
  return doublings < 20 && symbol.size() << doublings <= kMaxDemangled;
}

// "void a::scale<float>(float*)"; empty if the symbol is not mangled, or could
// be too long.
std::string Demangled(absl::string_view symbol) {
  if (!absl::StartsWith(symbol, kMangled) || !IsShort(symbol)) return "";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(std::string(symbol).c_str(), nullptr, nullptr,
                          &status),
      &std::free);
  return status == 0 ? name.get() : "";
}

// Where in a demangled function the name begins and its parameters do, outside
// of template arguments.
struct Places {
  size_t name = 0;
  size_t parameters = absl::string_view::npos;
};

Places PlacesIn(absl::string_view function) {
  Places places;
  size_t depth = 0;
  for (size_t i = 0; i < function.size(); ++i) {
    if (absl::StartsWith(function.substr(i), kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (function[i] == '<') {
      ++depth;
    } else if (function[i] == '>' && depth > 0) {
      --depth;
    } else if (depth == 0 && function[i] == ' ') {
      places.name = i + 1;
    } else if (depth == 0 && function[i] == '(') {
      places.parameters = i;
      break;
    }
  }
  return places;
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
  const std::string function = Demangled(symbol);
  const Places places = PlacesIn(function);
  if (places.parameters == absl::string_view::npos) return function;
  return function.substr(places.name, places.parameters - places.name);
}

std::vector<std::string> SourceParameters(absl::string_view symbol) {
  const std::string function = Demangled(symbol);
  const Places places = PlacesIn(function);
  std::vector<std::string> types;
  if (places.parameters == absl::string_view::npos) return types;
  const absl::string_view list =
      absl::string_view(function).substr(places.parameters + 1);
  size_t depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    const bool ends = depth == 0 && (list[i] == ',' || list[i] == ')');
    if (ends && i > begin) {
      types.emplace_back(list.substr(begin, i - begin));
    }
    if (ends && list[i] == ')') break;
    if (ends) begin = i + 2;  // behind ", "
    if (list[i] == '<' || list[i] == '(') ++depth;
    if ((list[i] == '>' || list[i] == ')') && depth > 0) --depth;
  }
  return types;
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
    const std::string name = begins ? SourceName(symbol) : std::string();
    const bool is_told = absl::StartsWith(text, absl::StrCat(" (", name, ")"));
    absl::StrAppend(&result, name.empty() || is_told ? symbol : name);
  }
  return absl::StrCat(result, text);
}

}  // namespace holdfast
