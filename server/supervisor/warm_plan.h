// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_WARM_PLAN_H_
#define HOLDFAST_SERVER_SUPERVISOR_WARM_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::supervisor {

// Decides on which devices warm executors wait for sessions. A context takes
// device memory, so an executor has a context on one device only, and serves
// sessions that may use this device. Warm executors wait on the devices that
// were requested most recently. Not thread-safe.
//
// WarmPlan starts no process. After every change, ExecutorPool calls Next and
// carries out the step, until no step is left.
class WarmPlan {
 public:
  // `warm` is the number of warm executors on all devices together. They wait
  // on the device `first` until another device is requested.
  explicit WarmPlan(size_t warm, uint32_t first = 0)
      : warm_(warm), demand_{first} {}

  using Devices = std::vector<uint32_t>;

  // Notes a request for a session whose first device is `device`. The plan
  // remembers the last 64 devices.
  void NoteDemand(uint32_t device);
  // Forgets a device: Next starts no warm executor on it until the next
  // NoteDemand.
  void Forget(uint32_t device) { std::erase(demand_, device); }
  // Returns true if no remembered device is left.
  bool empty() const { return demand_.empty(); }

  // One step from the present to the planned executors. One field is set.
  struct Step {
    std::optional<uint32_t> start;  // an executor on this device
    std::optional<size_t> end;      // the executor at this index of `waiting`
  };
  // Returns the next step; nullopt if nothing is left to do. `waiting` has the
  // device of each warm executor; `calls` has the devices of each session that
  // waits for an executor. Executors for calls are started first. An unneeded
  // executor ends before a warm executor is started, because its context takes
  // device memory.
  std::optional<Step> Next(const Devices& waiting,
                           const std::vector<Devices>& calls) const;

  // Returns the devices of at most `most` executors to start in parallel, for
  // calls that no executor of `waiting` can serve.
  static Devices MissingForCalls(const Devices& waiting,
                                 const std::vector<Devices>& calls,
                                 size_t most);

  // Returns the index in `waiting` of the executor for a session with these
  // devices: an executor on the first of `devices` that has one. nullopt: there
  // is none.
  static std::optional<size_t> Choose(const Devices& waiting,
                                      const Devices& devices);

 private:
  const size_t warm_;
  Devices demand_;  // most recent first, each once
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_WARM_PLAN_H_
