// SPDX-License-Identifier: Apache-2.0
#include "proto/node_path.h"

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"

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

absl::Status NodePath::Prefix(const absl::Status& status) const {
  if (status.ok() || steps_.empty()) return status;
  absl::Status result = WithPrefix(ToString(), status);
  ErrorDetail detail = GetErrorDetail(status).value_or(ErrorDetail());
  for (const Step& step : steps_) detail.graph_node.push_back(step.id);
  SetErrorDetail(detail, &result);
  return result;
}

}  // namespace holdfast
