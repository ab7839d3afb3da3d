// SPDX-License-Identifier: Apache-2.0
#include "client/bench/figure.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace holdfast::bench {

std::optional<double> Figure::Ratio() const {
  if (!baseline.has_value() || baseline->value.p50 == 0) return std::nullopt;
  return value.p50 / baseline->value.p50;
}

std::optional<bool> Figure::Met() const {
  if (!bar.has_value()) return std::nullopt;
  return better == Better::kLess ? value.p50 <= bar->limit
                                 : value.p50 >= bar->limit;
}

Figure Figure::Reaching(double limit, const std::string& text) && {
  bar = Bar{text, limit};
  return std::move(*this);
}

Figure Figure::ReachingRatio(double ratio) && {
  if (baseline.has_value()) {
    bar = Bar{absl::StrCat(better == Better::kLess ? "≤ " : "≥ ", ratio, " × ",
                           baseline->name),
              ratio * baseline->value.p50};
  }
  return std::move(*this);
}

Figure Figure::ReachingSum(double more) && {
  if (baseline.has_value()) {
    bar = Bar{absl::StrCat("≤ ", baseline->name, " + ", more, " ", unit),
              baseline->value.p50 + more};
  }
  return std::move(*this);
}

Figure Figure::ReachingCopySum(uint64_t bytes, double more) && {
  if (baseline.has_value() && baseline->value.p50 > 0) {
    // GB/s are bytes a nanosecond.
    const auto size = static_cast<double>(bytes);
    bar = Bar{absl::StrCat("≥ ", baseline->name, " with ", more, " µs more"),
              size / (size / baseline->value.p50 + 1000 * more)};
  }
  return std::move(*this);
}

}  // namespace holdfast::bench
