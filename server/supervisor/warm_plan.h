// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_WARM_PLAN_H_
#define HOLDFAST_SERVER_SUPERVISOR_WARM_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::supervisor {

// Decides on which devices executors wait for sessions. An executor has a
// context on one device, and serves only sessions that may use that device,
// since a context takes memory there. Those that wait are for the devices that
// were asked for most recently. Not thread-safe.
//
// Pure decisions, made again at every change: ExecutorPool asks for the next
// step, takes it, and asks again until there is none.
class WarmPlan {
 public:
  // `warm`: executors to keep waiting, on all devices together; on the device
  // `first` until another one is asked for.
  explicit WarmPlan(size_t warm, uint32_t first = 0)
      : warm_(warm), demand_{first} {}

  using Devices = std::vector<uint32_t>;

  // A session was asked for whose first device this is. Remembers 64 devices,
  // the last that were asked for.
  void NoteDemand(uint32_t device);
  // No executor is to wait on this device until NoteDemand.
  void Forget(uint32_t device) { std::erase(demand_, device); }
  // Is there no device on which executors are to wait? True once every device
  // that was asked for is forgotten.
  bool empty() const { return demand_.empty(); }

  // One step that brings what waits closer to what is wanted. Either is set.
  struct Step {
    std::optional<uint32_t> start;  // an executor on this device
    std::optional<size_t> end;      // the executor at this index of `waiting`
  };
  // `waiting`: the device of each executor that waits. `calls`: the devices of
  // each session that waits for an executor. No step: nothing is to be done.
  // Calls come before waiting executors; one that is not wanted ends before
  // another is started, since its context takes device memory.
  std::optional<Step> Next(const Devices& waiting,
                           const std::vector<Devices>& calls) const;

  // The devices of executors to start for calls that none of `waiting` is for,
  // at most `most`. They are started side by side, since each call waits.
  static Devices MissingForCalls(const Devices& waiting,
                                 const std::vector<Devices>& calls,
                                 size_t most);

  // The index in `waiting` of the executor to take for a session with these
  // devices: one of the first of them that has any. nullopt: none waits on any
  // of them.
  static std::optional<size_t> Choose(const Devices& waiting,
                                      const Devices& devices);

 private:
  const size_t warm_;
  Devices demand_;  // most recent first, each once
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_WARM_PLAN_H_
