// SPDX-License-Identifier: Apache-2.0
#include "proto/node_path.h"

#include "absl/strings/str_cat.h"

namespace holdfast {

std::string NodePath::ToString() const {
  std::string text;
  for (size_t i = 0; i < steps_.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "node " : ", node ", steps_[i].id);
    // The last node itself is meant, none of its branches.
    if (steps_[i].branch.has_value() && i + 1 < steps_.size()) {
      absl::StrAppend(&text, ", branch ", *steps_[i].branch);
    }
  }
  return text;
}

std::vector<uint32_t> NodePath::ids() const {
  std::vector<uint32_t> ids;
  ids.reserve(steps_.size());
  for (const Step& step : steps_) ids.push_back(step.id);
  return ids;
}

}  // namespace holdfast
