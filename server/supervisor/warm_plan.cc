// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/warm_plan.h"

#include <algorithm>
#include <utility>

namespace holdfast::supervisor {
namespace {

// Devices that are remembered; more could not be warm at once.
constexpr size_t kMaxDemand = 64;

}  // namespace

void WarmPlan::NoteDemand(uint32_t device) {
  std::erase(demand_, device);
  demand_.insert(demand_.begin(), device);
  if (demand_.size() > kMaxDemand) demand_.pop_back();
}

std::optional<size_t> WarmPlan::Choose(const Devices& waiting,
                                       const Devices& devices) {
  for (const uint32_t device : devices) {
    const auto it = std::find(waiting.begin(), waiting.end(), device);
    if (it != waiting.end()) return it - waiting.begin();
  }
  return std::nullopt;
}

WarmPlan::Devices WarmPlan::MissingForCalls(const Devices& waiting,
                                            const std::vector<Devices>& calls,
                                            size_t most) {
  Devices left = waiting;
  Devices missing;
  for (const Devices& devices : calls) {
    if (missing.size() == most) break;
    if (const auto chosen = Choose(left, devices)) {
      left.erase(left.begin() + static_cast<ptrdiff_t>(*chosen));
    } else {
      missing.push_back(devices.front());
    }
  }
  return missing;
}

std::optional<WarmPlan::Step> WarmPlan::Next(
    const Devices& waiting, const std::vector<Devices>& calls) const {
  // The executors that no call is about to take, with their places in
  // `waiting`.
  Devices left = waiting;
  std::vector<size_t> places(waiting.size());
  for (size_t i = 0; i < places.size(); ++i) places[i] = i;
  const auto take = [&](size_t i) {
    left.erase(left.begin() + static_cast<ptrdiff_t>(i));
    places.erase(places.begin() + static_cast<ptrdiff_t>(i));
  };
  for (const Devices& devices : calls) {
    const std::optional<size_t> chosen = Choose(left, devices);
    if (!chosen.has_value()) return Step{.start = devices.front()};
    take(*chosen);
  }
  std::optional<uint32_t> missing;
  for (size_t i = 0; i < warm_ && !demand_.empty(); ++i) {
    const uint32_t wanted = demand_[i % demand_.size()];
    if (const auto found = Choose(left, {wanted}); found.has_value()) {
      take(*found);
    } else if (!missing.has_value()) {
      missing = wanted;
    }
  }
  if (!missing.has_value()) return std::nullopt;
  // One that is not wanted goes first: its context takes device memory.
  if (!left.empty()) return Step{.end = places.front()};
  return Step{.start = missing};
}

}  // namespace holdfast::supervisor
