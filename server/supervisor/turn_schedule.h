// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_TURN_SCHEDULE_H_
#define HOLDFAST_SERVER_SUPERVISOR_TURN_SCHEDULE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace holdfast::supervisor {

// Shares one device between tenants by weight: start-time fair queueing over
// GPU time. Each tenant has a virtual time, which grows by its GPU time divided
// by its weight; the tenant with the least virtual time gets the turn. A tenant
// that begins to have work starts at the least virtual time of the others, so
// that an idle tenant saves up no time. Not thread-safe.
//
// SharePacer calls Decide every few milliseconds for each device, with the GPU
// time used since the last call:
//
//   const std::string& holder = schedule.Decide(now, demands);
//
// A turn decides which work is given to the device next. Work that is on the
// device continues when the turn ends.
class TurnSchedule {
 public:
  // The length of a turn. The turn ends early if its tenant has no work, or is
  // ahead of another tenant with work by more than one turn of each.
  static constexpr absl::Duration kSlice = absl::Milliseconds(5);
  // The time after its last work for which a tenant still takes part.
  static constexpr absl::Duration kLinger = absl::Milliseconds(100);
  // Work on the device cannot be taken back, so a tenant can get more than its
  // share. Its debt is cut to kMostDebt, divided by its weight.
  static constexpr absl::Duration kMostDebt = absl::Seconds(1);
  // The longest time without a turn for a tenant that has work, even if it has
  // a debt. The debt may be too large, because time in which the tenant's
  // streams only wait counts as GPU time.
  static constexpr absl::Duration kLongestWait = absl::Milliseconds(500);

  // The figures of one tenant, or of a group of tenants that gets turns as a
  // whole.
  struct Demand {
    // 0 counts as 1.
    uint32_t weight = 1;
    // Sessions that have work now: on the device, or waiting for its turn.
    uint32_t wanting = 0;
    // GPU time since the last call.
    absl::Duration used;
  };
  // The key is the tenant's name. Decide forgets tenants that are not in the
  // map.
  using Demands = std::map<std::string, Demand>;

  // Returns the tenant that has the turn from now on. Returns "" if all may
  // run: fewer than two tenants want the device, or all of them have the same
  // weight and number of sessions, so that the driver's own time slices share
  // it fairly. `now` must not decrease. The reference is valid until the next
  // call.
  const std::string& Decide(absl::Time now, const Demands& demands);

  // Returns true if two tenants wanted the device at the last Decide.
  bool contended() const { return contended_; }

 private:
  // A tenant that takes part.
  struct Tenant {
    double time = 0;  // virtual, in seconds
    uint32_t weight = 1;
    uint32_t wanting = 0;
    uint32_t sessions = 0;  // the most that wanted the device within kLinger
    absl::Time sessions_at;
    absl::Time last_wanted;
    absl::Time last_turn;  // or when it began to take part
  };

  // Adds the demands to the tenants' virtual times, and cuts debts over
  // kMostDebt.
  void Take(absl::Time now, const Demands& demands);
  // Forgets tenants that have not wanted the device for kLinger.
  void Drop(absl::Time now, const Demands& demands);
  // Returns the least virtual time of all tenants except `but`; infinite if
  // there is no other.
  double Floor(const std::string& but) const;
  // Returns true if the tenants' weights or numbers of sessions differ.
  bool NeedsTurns() const;
  // Returns true if another tenant is so far behind that the holder's turn is
  // over.
  bool IsOvertaken(const Tenant& holder) const;
  // Begins the next turn: of a tenant that is overdue by kLongestWait,
  // otherwise of the tenant with work and the least virtual time.
  void Switch(absl::Time now);

  std::map<std::string, Tenant> tenants_;  // that take part
  std::string holder_;
  absl::Time turn_began_ = absl::InfinitePast();
  bool overdue_ = false;  // the holder was overdue by kLongestWait
  bool contended_ = false;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_TURN_SCHEDULE_H_
