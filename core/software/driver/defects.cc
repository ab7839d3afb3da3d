// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/defects.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {
namespace {

constexpr std::chrono::milliseconds kReadAgain(5);

Defect ParseDefect(absl::string_view name) {
  if (name == "gone") return Defect::kGone;
  if (name == "fault") return Defect::kFault;
  if (name == "hang") return Defect::kHang;
  if (name == "wait") return Defect::kWait;
  return Defect::kNone;
}

std::map<int, Defect> ReadDefects() {
  const char* const path = getenv("HOLDFAST_SOFTWARE_DEFECTS");
  if (path == nullptr) return {};
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return ParseDefects(text.str());
}

Defect Find(const std::map<int, Defect>& defects, int ordinal) {
  const auto found = defects.find(ordinal);
  return found == defects.end() ? Defect::kNone : found->second;
}

Defect AwaitDefect(int ordinal) {
  Defect defect = Find(ReadDefects(), ordinal);
  while (defect == Defect::kWait) {
    std::this_thread::sleep_for(kReadAgain);
    defect = Find(ReadDefects(), ordinal);
  }
  return defect;
}

// The defect that the first call for each device has found.
struct Found {
  Mutex mutex;
  std::map<int, Defect> defects ABSL_GUARDED_BY(mutex);
};

}  // namespace

std::map<int, Defect> ParseDefects(absl::string_view text) {
  std::map<int, Defect> defects;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(absl::StripAsciiWhitespace(line), ' ');
    int ordinal = 0;
    const Defect defect = ParseDefect(words.second);
    if (defect == Defect::kNone || !absl::SimpleAtoi(words.first, &ordinal)) {
      continue;
    }
    defects[ordinal] = defect;
  }
  return defects;
}

Defect DefectOf(int ordinal) {
  static const bool may_have_some =
      getenv("HOLDFAST_SOFTWARE_DEFECTS") != nullptr;
  if (!may_have_some) return Defect::kNone;
  static Found& found = *new Found;
  {
    MutexLock lock(&found.mutex);
    const auto known = found.defects.find(ordinal);
    if (known != found.defects.end()) return known->second;
  }
  const Defect defect = AwaitDefect(ordinal);
  MutexLock lock(&found.mutex);
  return found.defects.emplace(ordinal, defect).first->second;
}

}  // namespace holdfast::software
