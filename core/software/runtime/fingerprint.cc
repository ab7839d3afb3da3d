// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/fingerprint.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/software/jit/object_cache.h"

namespace holdfast::software {
namespace {

// By line, counted from 0: the kernel in whose text it lies, or -1. Between the
// line of its name and that of its last instruction there is nothing else.
std::vector<int> KernelsOfLines(const ptx::Module& module, size_t lines) {
  std::vector<int> kernels(lines, -1);
  for (size_t f = 0; f < module.functions.size(); ++f) {
    const ptx::Function& function = module.functions[f];
    if (!function.kernel || function.body.empty()) continue;
    const int last = function.body.back().location.line;
    for (int line = function.location.line + 1; line < last; ++line) {
      kernels[static_cast<size_t>(line - 1)] = static_cast<int>(f);
    }
  }
  return kernels;
}

}  // namespace

std::vector<std::string> Fingerprints(const ptx::Module& module,
                                      const std::string& text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const std::vector<int> kernels = KernelsOfLines(module, lines.size());
  std::string common;
  std::vector<std::string> own(module.functions.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string& part =
        kernels[i] < 0 ? common : own[static_cast<size_t>(kernels[i])];
    part.append(lines[i].data(), lines[i].size());
    part += '\n';
  }
  const std::string shared = jit::Sha256Hex(common);
  for (std::string& part : own)
    part = jit::Sha256Hex(absl::StrCat(shared, part));
  return own;
}

}  // namespace holdfast::software
