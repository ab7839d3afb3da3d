// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_NEAREST_WORD_H_
#define HOLDFAST_CORE_BASE_NEAREST_WORD_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace holdfast {

// Returns the candidate that differs from `word` by the fewest edits. An edit
// inserts, deletes or replaces a letter, or swaps two neighbouring letters.
// Returns an empty string if all candidates differ by more than one edit and by
// more edits than a third of the letters of `word`. A leading "--" does not
// count as letters.
std::string NearestWord(absl::string_view word,
                        const std::vector<std::string>& candidates);

// Returns the end of a message about an unknown word, "; did you mean listen?";
// "" if NearestWord finds no candidate.
std::string DidYouMean(absl::string_view word,
                       const std::vector<std::string>& candidates);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_NEAREST_WORD_H_
