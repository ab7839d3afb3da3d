// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/kernel_names.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/source_name.h"

namespace holdfast::cuda {
namespace {

constexpr size_t kMaxNamesInMessage = 32;

std::string Described(const std::string& symbol) {
  const std::string source_name = SourceName(symbol);
  return source_name.empty() ? symbol
                             : absl::StrCat(symbol, " (", source_name, ")");
}

// How the kernel is reached that is called `name` in its source.
std::string Hint(absl::string_view name, const std::string& symbol) {
  const std::string source_name = SourceName(symbol);
  if (source_name.empty()) return "";
  if (source_name == name) {
    return absl::StrCat("; declare ", name,
                        " extern \"C\", or compile it with the name "
                        "expression \"",
                        name, "\"");
  }
  if (!absl::StartsWith(source_name, absl::StrCat(name, "<"))) return "";
  return absl::StrCat("; ", name, " is a template: name an instance, ",
                      source_name);
}

// A template of the source is in the module only as the instances that the
// compilation has been asked for.
std::string NoKernel(absl::string_view name) {
  constexpr absl::string_view kText = "; the module has no kernel";
  if (absl::StrContains(name, '<')) return std::string(kText);
  return absl::StrCat(kText, "; if ", name,
                      " is a template, compile it with a name expression, "
                      "such as \"",
                      name, "<float>\"");
}

}  // namespace

std::string DescribeKernels(absl::string_view name,
                            const std::vector<std::string>& symbols) {
  if (symbols.empty()) return NoKernel(name);
  const size_t shown = std::min(symbols.size(), kMaxNamesInMessage);
  std::vector<std::string> names;
  for (size_t i = 0; i < shown; ++i) names.push_back(Described(symbols[i]));
  std::string text =
      absl::StrCat("; the module has ", absl::StrJoin(names, ", "));
  if (shown < symbols.size()) {
    absl::StrAppend(&text, " and ", symbols.size() - shown, " more");
  }
  for (const std::string& symbol : symbols) {
    const std::string hint = Hint(name, symbol);
    if (!hint.empty()) return text + hint;
  }
  return text;
}

}  // namespace holdfast::cuda
