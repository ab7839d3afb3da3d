// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/refused_code.h"

#include <cstddef>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/cuda/error_text.h"

namespace holdfast::cuda {
namespace {

constexpr size_t kMostLines = 32;

// Returns true at the first call with this line, unless there were too many.
bool IsNew(const std::string& line) {
  static std::mutex& mutex = *new std::mutex;
  static std::set<std::string>& said = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return said.size() < kMostLines && said.insert(line).second;
}

}  // namespace

void SayCodeIsRefused(CUresult result, absl::string_view reason) {
  const std::string line = absl::StrCat(
      "holdfast: code of this program is refused (", ErrorName(result),
      "): ", reason.substr(0, reason.find('\n')), "\n");
  if (IsNew(line)) std::fputs(line.c_str(), stderr);
}

}  // namespace holdfast::cuda
