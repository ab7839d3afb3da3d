// SPDX-License-Identifier: Apache-2.0
//
// Keeps warm executors, so that opening a session takes milliseconds. A warm
// executor has loaded its driver, has a context on one device, and waits for a
// session on this device. When an executor is taken or has died, the pool
// starts another one, on the devices in demand (warm_plan.h). When a start
// fails, calls fail with its error during a pause; then the pool tries again
// (start_backoff.h).
//
// Threads: the pool's own thread starts, awaits and ends executors. Any thread
// may take an executor. The thread that reads a warm executor's messages
// reports its end.
//
// Locks: mutex_ guards the state that the threads share. It is not held while
// an executor is started, awaited or destroyed, because the callback of an
// executor's end locks it.
#ifndef HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_POOL_H_
#define HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_POOL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/supervisor/device_catalogue.h"
#include "server/supervisor/executor_process.h"
#include "server/supervisor/start_backoff.h"
#include "server/supervisor/warm_plan.h"

namespace holdfast::supervisor {

// Thread-safe.
class ExecutorPool {
 public:
  using Starter =
      std::function<absl::StatusOr<std::unique_ptr<ExecutorProcess>>(
          uint32_t device)>;
  struct Options {
    // Starts an executor, and returns before it is ready; the pool waits until
    // it is ready.
    Starter start;  // called by the pool's own thread
    // The number of warm executors. The first executor is always started, on
    // `first_device`, because it reports the machine's devices.
    size_t warm = 1;
    uint32_t first_device = 0;
    // The time in which an executor must report that it is ready.
    absl::Duration start_limit = absl::Minutes(2);
    // The first and the longest pause after failed starts.
    absl::Duration first_pause = absl::Seconds(1);
    absl::Duration longest_pause = absl::Minutes(1);
    // Called with true after each successful start, and with false after a
    // failed one.
    std::function<void(bool)> on_health;
  };

  // A warm executor, and the device of its context.
  struct Waiting {
    std::unique_ptr<ExecutorProcess> process;
    uint32_t device = 0;
  };
  using Warm = std::deque<Waiting>;

  // Starts the pool's thread, which starts the first executor at once.
  // `adopted` are executors that the earlier daemon has started for the
  // sessions that this daemon restores. The pool keeps all of them for 30 s,
  // and then `warm` of them.
  explicit ExecutorPool(Options options, Warm adopted = {});
  // Ends the warm executors.
  ~ExecutorPool();

  // Returns a ready executor, whose only context is on one of these devices.
  // Prefers a warm executor; otherwise starts an executor on the first device.
  // Blocks until an executor is ready. UNAVAILABLE: no executor could be
  // started; the message has the reason. DEADLINE_EXCEEDED: no executor was
  // ready in time. REQUIRES: `devices` is not empty.
  absl::StatusOr<std::unique_ptr<Executor>> Take(
      const std::vector<uint32_t>& devices, absl::Time deadline);

  // Like Take, for a caller that copies memory without a session.
  absl::StatusOr<std::unique_ptr<ExecutorProcess>> TakeProcess(
      const std::vector<uint32_t>& devices, absl::Time deadline);

  // Sets whether the pool starts warm executors on a device. While the device
  // is not usable, the pool keeps its warm executors on a usable device; an
  // executor that is warm already is not ended. Setting a device unusable also
  // ends a pause after a failed start, because the start may have failed on
  // this device.
  void SetUsable(uint32_t device, bool usable);

  // Returns the devices that executors have found. Blocks until the first
  // report. Returns the errors of Take.
  absl::StatusOr<std::shared_ptr<const DeviceCatalogue>> Devices(
      absl::Time deadline);

  // The pool's figures, for the daemon's metrics.
  struct Statistics {
    size_t waiting = 0;
    bool failing = false;  // the last start failed
    // Since the daemon's start.
    uint64_t started = 0;
    uint64_t failed = 0;  // failed starts
    uint64_t lost = 0;    // executors that have ended while they were warm

    // Adds the figures of another pool.
    Statistics& operator+=(const Statistics& other);
  };
  // Returns the present figures. Takes the pool's lock.
  Statistics statistics() const;

 private:
  // The pool's thread: starts and ends executors until the destructor stops it.
  void Run();
  void AddAdopted();
  // Returns the device of each warm executor, in the order of warm_.
  std::vector<uint32_t> WarmDevices() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns true while starts are put off, because no call waits and an
  // executor was taken just now (StartBackoff::settled).
  bool Settling() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the time at which Run must check again even if nothing has changed.
  absl::Time NextLook() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the next step; nullopt if the pool has the executors that it needs.
  std::optional<WarmPlan::Step> NextStep() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns a usable device; nullopt if there is none, or the devices are not
  // known.
  std::optional<uint32_t> UsableDevice() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out adopted executors beyond `warm`, after their 30 s.
  Warm TakeLeftOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out warm executors that the plan does not need any more.
  Warm TakeUnwanted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  using Started = absl::StatusOr<std::unique_ptr<ExecutorProcess>>;

  // Starts an executor on each of the devices in parallel, and waits until all
  // are ready. Once the pool has had a ready executor, repeats a failed start
  // once, because an operator or the OOM killer may have killed the process.
  void Start(const std::vector<uint32_t>& devices);
  // Adds the executor when it is ready. Blocks up to start_limit.
  absl::Status AwaitReady(Started started, uint32_t device);
  // Returns true if a failed start is to be repeated; counts the failure then.
  bool TriesAgain();
  // Makes a ready executor available to calls of Take.
  void Add(Waiting executor, const internal::Ready& ready);
  // Refuses calls until the pause is over.
  void SetFailed(const absl::Status& status);
  // Takes out the warm executors that have ended.
  Warm TakeDead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Blocks until `done` returns true, until a start fails, or until the
  // deadline.
  absl::Status AwaitStart(const std::function<bool()>& done,
                          absl::Time deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  mutable absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // The devices of each call of Take, oldest first.
  std::list<std::vector<uint32_t>> calls_ ABSL_GUARDED_BY(mutex_);
  WarmPlan plan_ ABSL_GUARDED_BY(mutex_);
  std::set<uint32_t> unusable_ ABSL_GUARDED_BY(mutex_);  // devices
  std::shared_ptr<const DeviceCatalogue> devices_ ABSL_GUARDED_BY(mutex_);
  Warm warm_ ABSL_GUARDED_BY(mutex_);
  // True if an executor of warm_ may have ended.
  bool check_warm_ ABSL_GUARDED_BY(mutex_) = false;
  StartBackoff backoff_ ABSL_GUARDED_BY(mutex_);
  Statistics statistics_ ABSL_GUARDED_BY(mutex_);  // the sums
  Warm adopted_;  // used by thread_ only; empty once they are in warm_
  // No unneeded executor is ended before this time. InfinitePast: no executor
  // was adopted, or the time is over.
  absl::Time keep_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::thread thread_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_POOL_H_
