// SPDX-License-Identifier: Apache-2.0
//
// The health of each device, and the time of its next probe.
//
//             probe passes                    probe fails
//   PROBING ---------------> READY --------------------------> QUARANTINED
//      ^                       |  a probe passes: READY again       | ^
//      +--- after a fault -----+ <----------------------------------+ | fails
//                                                                   +-+
#ifndef HOLDFAST_SERVER_HEALTH_DEVICE_HEALTH_TABLE_H_
#define HOLDFAST_SERVER_HEALTH_DEVICE_HEALTH_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/steady_time.h"
#include "holdfast/v1/devices.pb.h"

namespace holdfast {

// The table of all devices. DeviceProber makes the probes: it calls AwaitDue
// and Record. Thread-safe.
class DeviceHealthTable {
 public:
  struct Options {
    // The time from the end of a probe that passed to the next probe. 0: the
    // next probe is made only after a fault.
    absl::Duration interval = absl::Minutes(5);
    // The time from the end of a probe that failed to the next probe. It
    // doubles with each failure, up to longest_pause.
    absl::Duration first_pause = absl::Seconds(1);
    absl::Duration longest_pause = absl::Minutes(1);
    // The time from a fault to the probe that the fault causes. A probe starts
    // a process and makes a context. In the first second after a fault it would
    // delay the session that recovers, and the other sessions.
    absl::Duration fault_delay = absl::Seconds(1);
    // The least time between two probes that faults cause. A probe takes device
    // memory and time from other sessions, and a client can fault at any rate.
    absl::Duration fault_pause = absl::Seconds(5);
    // Called at the end of each Record, without a lock. `ready` is true if the
    // probe has passed.
    std::function<void(uint32_t device, bool ready)> on_change;
    // The clock for deadlines. Tests replace it. The times in DeviceHealth are
    // those of the wall clock.
    std::function<absl::Time()> now = SteadyNow;
  };

  explicit DeviceHealthTable(Options options) : options_(std::move(options)) {}

  // Adds a device. Its first probe is due at once.
  void Add(uint32_t device);

  // Notes a fault of a session that may use the device; a probe follows. Has no
  // effect if the device was not added.
  void NoteFault(uint32_t device);

  // Returns the health of the device, with STATE_UNSPECIFIED until Add.
  v1::DeviceHealth Get(uint32_t device) const;

  // Blocks until a probe of the device is due, and notes that it runs. Returns
  // false after Stop. REQUIRES: Add.
  bool AwaitDue(uint32_t device);
  // Records the outcome of the probe that AwaitDue has begun. `took` is its
  // duration.
  void Record(uint32_t device, const absl::Status& outcome,
              absl::Duration took);
  // Returns the time of the next probe, by Options::now. REQUIRES: Add.
  absl::Time due(uint32_t device) const;

  // Makes present and later calls of AwaitDue return false.
  void Stop();
  bool stopped() const;

 private:
  struct Entry {
    v1::DeviceHealth health;
    absl::Time due;
    absl::Time began = absl::InfinitePast();  // the last probe
    absl::Time shown_began;                   // the same, by the wall clock
    absl::Duration pause;                     // after the next failure
    bool running = false;
    bool faulted = false;  // since the last probe began
  };

  // Returns the time of the next probe.
  absl::Time NextProbe(Entry& entry, bool passed) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetState(v1::DeviceHealth::State state, v1::DeviceHealth* health) const;

  const Options options_;
  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;  // of what AwaitDue waits for
  std::map<uint32_t, Entry> devices_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HEALTH_DEVICE_HEALTH_TABLE_H_
