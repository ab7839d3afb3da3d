// SPDX-License-Identifier: Apache-2.0
#include "client/bench/summary.h"

#include <algorithm>

namespace holdfast::bench {
namespace {

double Percentile(const std::vector<double>& sorted, double percent) {
  const double place = percent / 100 * static_cast<double>(sorted.size());
  const auto index = static_cast<size_t>(place);
  return sorted[std::min(index, sorted.size() - 1)];
}

}  // namespace

Summary Summary::Of(std::vector<double> samples, Better better) {
  std::sort(samples.begin(), samples.end());
  Summary summary;
  summary.p50 = Percentile(samples, 50);
  summary.p99 = Percentile(samples, better == Better::kLess ? 99 : 1);
  summary.p10 = Percentile(samples, 10);
  summary.p90 = Percentile(samples, 90);
  summary.count = samples.size();
  return summary;
}

}  // namespace holdfast::bench
