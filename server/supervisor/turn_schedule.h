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
// by its weight; the turn goes to the one that is furthest behind. A tenant
// that begins to want the device starts where the others are: it saves nothing
// up while it is idle. Not thread-safe.
//
// Called by SharePacer every few milliseconds, once for each device, with what
// was used since:
//
//   const std::string& holder = schedule.Decide(now, demands);
//
// Work that is on the device goes on when a turn ends: turns decide what is
// given to the device next.
class TurnSchedule {
 public:
  // A turn lasts so long, while its tenant has work and is not ahead of another
  // that has by more than a turn of both.
  static constexpr absl::Duration kSlice = absl::Milliseconds(5);
  // A tenant still takes part so long after its last work.
  static constexpr absl::Duration kLinger = absl::Milliseconds(100);
  // Work that is given cannot be taken back, so a tenant can get more than its
  // share. It makes up for no more than this, divided by its weight.
  static constexpr absl::Duration kMostDebt = absl::Seconds(1);
  // A tenant that wants the device has a turn so often at least, whatever it
  // owes: a stream of it may wait for something, which counts as GPU time.
  static constexpr absl::Duration kLongestWait = absl::Milliseconds(500);

  // The figures of one tenant, or of a group of tenants that has its turns as a
  // whole.
  struct Demand {
    // 0 counts as 1.
    uint32_t weight = 1;
    // Sessions that have work now: on the device, or waiting for its turn.
    uint32_t wanting = 0;
    // GPU time since the last call.
    absl::Duration used;
  };
  // By the tenant's name. Tenants that are left out are forgotten at once.
  using Demands = std::map<std::string, Demand>;

  // Returns the tenant whose turn it is from now on, or "" if all may go on: no
  // two tenants want the device, or those that do have the same weight and as
  // many sessions, so that the driver's own time slices share it as well. Times
  // must not fall. The reference is valid until the next call.
  const std::string& Decide(absl::Time now, const Demands& demands);

  // Whether two tenants want the device. As of the last Decide.
  bool contended() const { return contended_; }

 private:
  // A tenant that takes part.
  struct Tenant {
    double time = 0;  // virtual, in seconds
    uint32_t weight = 1;
    uint32_t wanting = 0;
    uint32_t sessions = 0;  // the most that wanted it within kLinger
    absl::Time sessions_at;
    absl::Time last_wanted;
    absl::Time last_turn;  // or when it began to take part
  };

  // Adds the demands to the tenants' virtual times, and cuts debts over
  // kMostDebt.
  void Take(absl::Time now, const Demands& demands);
  // Forgets tenants that have not wanted the device for kLinger.
  void Drop(absl::Time now, const Demands& demands);
  // The least virtual time of all but one. Infinite: there is no other.
  double Floor(const std::string& but) const;
  // Weights or numbers of sessions differ.
  bool NeedsTurns() const;
  // Whether another is so far behind that the holder's turn is over.
  bool IsOvertaken(const Tenant& holder) const;
  // Begins the next turn. One that is overdue comes first, then the one with
  // the least virtual time.
  void Switch(absl::Time now);

  std::map<std::string, Tenant> tenants_;  // that take part
  std::string holder_;
  absl::Time turn_began_ = absl::InfinitePast();
  bool overdue_ = false;  // the turn, by kLongestWait
  bool contended_ = false;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_TURN_SCHEDULE_H_
