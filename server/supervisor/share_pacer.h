// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_SHARE_PACER_H_
#define HOLDFAST_SERVER_SUPERVISOR_SHARE_PACER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/counters/execution_totals.h"
#include "server/supervisor/turn_schedule.h"
#include "server/tenants/tenant.h"

namespace holdfast::supervisor {

// Gives executors their turns at devices that several tenants keep busy, so
// that GPU time is shared in proportion to the tenants' weights. Tenants that
// share an MPS server count as one tenant, with the sum of their weights. Reads
// the executors' counter pages and writes their turns
// (counters/device_turns.h). Its thread sleeps while no device has sessions of
// two tenants. Thread-safe.
//
// The pacer trusts an executor's figures for its GPU time and its waits, as far
// as they are possible: see THREAT_MODEL.md.
class SharePacer {
 public:
  // Starts the thread.
  SharePacer();
  // REQUIRES: all members have ended.
  ~SharePacer();
  SharePacer(const SharePacer&) = delete;
  SharePacer& operator=(const SharePacer&) = delete;

  // An executor that gets turns until this object is destroyed.
  class Member {
   public:
    // Removes the executor from its devices, and sets its turns to free.
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    friend class SharePacer;
    Member(SharePacer& pacer, ExecutionTotals::Page& page,
           std::shared_ptr<const Tenant> tenant, std::vector<uint32_t> devices);

    // Returns true if the executor has work on the device, or waits for its
    // turn there. Reads the executor's page, which is hostile input.
    bool Wants(uint32_t device) const;
    // Returns the GPU time since the last call. REQUIRES: the pacer's lock.
    absl::Duration TakeUsed(uint32_t device);
    // Writes the page only if the turn changes.
    void SetTurn(uint32_t device, DeviceTurns::Turn turn);

    SharePacer& pacer_;
    ExecutionTotals::Page& page_;
    const std::shared_ptr<const Tenant> tenant_;
    // The name of the tenant, or of its MPS group: the kernels of a group run
    // at the same time, so the group gets turns as a whole.
    const std::string turns_of_;
    const std::vector<uint32_t> devices_;
    std::map<uint32_t, uint64_t> used_;  // nanoseconds at the last call
    std::map<uint32_t, DeviceTurns::Turn> turns_;  // the turns not free
  };

  // Adds an executor with this counter page. Ignores devices with ordinals that
  // are too large for the page. The member takes part from the pacer's next
  // tick, at most 5 ms later. REQUIRES: pacer and page outlive the result.
  std::unique_ptr<Member> Join(ExecutionTotals::Page& page,
                               std::shared_ptr<const Tenant> tenant,
                               const std::vector<uint32_t>& devices);

 private:
  // The time between two reads of the pages: kTick while two tenants have work
  // for a device, and kSlowTick while sessions of two tenants may use it.
  static constexpr absl::Duration kTick = absl::Milliseconds(1);
  static constexpr absl::Duration kSlowTick = absl::Milliseconds(5);

  struct Device {
    std::set<Member*> members;
    TurnSchedule schedule;
  };

  // Returns true if sessions of two tenants may use the device. Tenants of one
  // MPS server count as one.
  static bool IsShared(const Device& device);
  // Lets all members run, as on a device that is not shared.
  static void FreeTurns(uint32_t ordinal, Device& device);
  // Returns true if a device is shared. The thread sleeps while none is.
  bool AnyShared() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives the device's turns. Returns true if two tenants have work for the
  // device.
  static bool Pace(absl::Time now, uint32_t ordinal, Device& device);
  // The thread's loop.
  void Run();

  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<uint32_t, Device> devices_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_SHARE_PACER_H_
