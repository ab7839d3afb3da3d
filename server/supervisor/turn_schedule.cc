// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/turn_schedule.h"

#include <algorithm>
#include <limits>

namespace holdfast::supervisor {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

}  // namespace

double TurnSchedule::Floor(const std::string& but) const {
  double floor = kNone;
  for (const auto& [name, tenant] : tenants_) {
    if (name != but) floor = std::min(floor, tenant.time);
  }
  return floor;
}

void TurnSchedule::Take(absl::Time now, const Demands& demands) {
  for (const auto& [name, demand] : demands) {
    const bool wants = demand.wanting > 0 || demand.used > absl::ZeroDuration();
    auto found = tenants_.find(name);
    if (found == tenants_.end()) {
      if (!wants) continue;
      const double floor = Floor(name);
      found = tenants_.emplace(name, Tenant{}).first;
      found->second.time = floor == kNone ? 0 : floor;
      found->second.last_turn = now;
    }
    Tenant& tenant = found->second;
    tenant.weight = std::max(demand.weight, uint32_t{1});
    tenant.wanting = demand.wanting;
    if (demand.wanting >= tenant.sessions ||
        now - tenant.sessions_at > kLinger) {
      tenant.sessions = demand.wanting;
      tenant.sessions_at = now;
    }
    if (wants) tenant.last_wanted = now;
    tenant.time += absl::ToDoubleSeconds(demand.used) / tenant.weight;
  }
  for (auto& [name, tenant] : tenants_) {
    const double most =
        Floor(name) + absl::ToDoubleSeconds(kMostDebt) / tenant.weight;
    tenant.time = std::min(tenant.time, most);
  }
}

void TurnSchedule::Drop(absl::Time now, const Demands& demands) {
  for (auto it = tenants_.begin(); it != tenants_.end();) {
    if (now - it->second.last_wanted > kLinger ||
        !demands.contains(it->first)) {
      it = tenants_.erase(it);
    } else {
      ++it;
    }
  }
}

bool TurnSchedule::NeedsTurns() const {
  if (tenants_.size() < 2) return false;
  const Tenant& first = tenants_.begin()->second;
  return std::any_of(tenants_.begin(), tenants_.end(), [&](const auto& entry) {
    return entry.second.weight != first.weight ||
           entry.second.sessions != first.sessions;
  });
}

bool TurnSchedule::IsOvertaken(const Tenant& holder) const {
  const double slice = absl::ToDoubleSeconds(kSlice);
  return std::any_of(tenants_.begin(), tenants_.end(), [&](const auto& entry) {
    const Tenant& other = entry.second;
    return other.wanting > 0 &&
           other.time + slice / other.weight + slice / holder.weight <
               holder.time;
  });
}

void TurnSchedule::Switch(absl::Time now) {
  turn_began_ = now;
  for (const auto& [name, tenant] : tenants_) {
    overdue_ = tenant.wanting > 0 && now - tenant.last_turn > kLongestWait;
    if (overdue_) {
      holder_ = name;
      return;
    }
  }
  const auto* next = &*tenants_.begin();
  for (const auto& entry : tenants_) {
    const bool wants = entry.second.wanting > 0;
    const bool next_wants = next->second.wanting > 0;
    if (wants == next_wants ? entry.second.time < next->second.time : wants) {
      next = &entry;
    }
  }
  holder_ = next->first;
}

const std::string& TurnSchedule::Decide(absl::Time now,
                                        const Demands& demands) {
  Take(now, demands);
  Drop(now, demands);
  contended_ = tenants_.size() > 1;
  if (!NeedsTurns()) {
    for (auto& [name, tenant] : tenants_) tenant.last_turn = now;
    holder_.clear();
    return holder_;
  }
  const auto holder = tenants_.find(holder_);
  const bool goes_on = holder != tenants_.end() && holder->second.wanting > 0 &&
                       now - turn_began_ < kSlice &&
                       (overdue_ || !IsOvertaken(holder->second));
  if (!goes_on) Switch(now);
  tenants_[holder_].last_turn = now;
  return holder_;
}

}  // namespace holdfast::supervisor
