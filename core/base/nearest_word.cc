// SPDX-License-Identifier: Apache-2.0
#include "core/base/nearest_word.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace holdfast {
namespace {

size_t Distance(absl::string_view a, absl::string_view b) {
  // Rows of the table of distances between beginnings: the last three.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1),
      next(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({last[j] + 1, next[j - 1] + 1,
                          last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        next[j] = std::min(next[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(next);
  }
  return last[b.size()];
}

}  // namespace

std::string NearestWord(absl::string_view word,
                        const std::vector<std::string>& candidates) {
  std::string nearest;
  // A third of its letters may be wrong.
  const size_t letters = absl::StripPrefix(word, "--").size();
  size_t least = std::max<size_t>(letters / 3, 1) + 1;
  for (const std::string& candidate : candidates) {
    const size_t difference = candidate.size() > word.size()
                                  ? candidate.size() - word.size()
                                  : word.size() - candidate.size();
    if (difference >= least) continue;
    const size_t distance = Distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(absl::string_view word,
                       const std::vector<std::string>& candidates) {
  const std::string nearest = NearestWord(word, candidates);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

}  // namespace holdfast
