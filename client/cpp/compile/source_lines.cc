// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/compile/source_lines.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"

namespace holdfast {
namespace {

constexpr size_t kMaxSource = size_t{1} << 20;
constexpr size_t kMaxAll = size_t{4} << 20;

struct Source {
  std::string name;
  std::string text;
};

// The last compiled first.
struct Sources {
  absl::Mutex mutex;
  std::deque<Source> all ABSL_GUARDED_BY(mutex);
  size_t bytes ABSL_GUARDED_BY(mutex) = 0;
};

// Never destroyed: other threads may still use it when the process ends.
Sources& Kept() {
  static auto* const sources = new Sources;
  return *sources;
}

// The name that a source has for a kernel: "scale" of "_Z5scaleIfEvPT_".
absl::string_view PlainName(absl::string_view kernel) {
  absl::string_view rest = kernel;
  if (!absl::ConsumePrefix(&rest, "_Z")) return kernel;
  size_t digits = 0;
  size_t length = 0;
  while (digits < rest.size() &&
         absl::ascii_isdigit(static_cast<unsigned char>(rest[digits]))) {
    ++digits;
  }
  // The name is in a namespace, whose parts are not read.
  if (!absl::SimpleAtoi(rest.substr(0, digits), &length)) return "";
  return rest.substr(digits, length);
}

// The line of this number, the first being 1; nullopt: there is none.
std::optional<absl::string_view> LineOf(absl::string_view text, size_t number) {
  for (; number > 1; --number) {
    const size_t end = text.find('\n');
    if (end == absl::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return absl::StripAsciiWhitespace(text.substr(0, text.find('\n')));
}

}  // namespace

void NoteSource(absl::string_view name, absl::string_view text) {
  if (text.size() > kMaxSource) return;
  Sources& kept = Kept();
  absl::MutexLock lock(&kept.mutex);
  const auto known = std::find_if(
      kept.all.begin(), kept.all.end(),
      [&](const Source& s) { return s.name == name && s.text == text; });
  if (known != kept.all.end()) return;
  kept.all.push_front({std::string(name), std::string(text)});
  kept.bytes += text.size();
  while (kept.bytes > kMaxAll) {
    kept.bytes -= kept.all.back().text.size();
    kept.all.pop_back();
  }
}

std::string SourceLineAt(absl::string_view place, absl::string_view kernel) {
  const size_t colon = place.rfind(':');
  size_t number = 0;
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(place.substr(colon + 1), &number) || number == 0) {
    return "";
  }
  Sources& kept = Kept();
  absl::MutexLock lock(&kept.mutex);
  std::optional<absl::string_view> line;
  for (const Source& source : kept.all) {
    if (source.name != place.substr(0, colon) ||
        !absl::StrContains(source.text, PlainName(kernel))) {
      continue;
    }
    const auto found = LineOf(source.text, number);
    if (!found.has_value() || (line.has_value() && *line != *found)) return "";
    line = found;
  }
  return std::string(line.value_or(""));
}

}  // namespace holdfast
