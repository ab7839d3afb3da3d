// SPDX-License-Identifier: Apache-2.0
//
// Executors that have loaded their driver, made a context on one device and
// wait for a session that may use it, so that opening one takes milliseconds. A
// thread starts the next one when one is taken or has died, on the devices that
// are in demand (warm_plan.h). When one cannot be started, the pool tries again
// after a pause that doubles each time, and says until then why.
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
#include "server/supervisor/warm_plan.h"

namespace holdfast::supervisor {

// Thread-safe.
class ExecutorPool {
 public:
  using Starter =
      std::function<absl::StatusOr<std::unique_ptr<ExecutorProcess>>(
          uint32_t device)>;
  struct Options {
    // Returns before the executor is ready; the pool waits for that.
    Starter start;  // called by the pool's own thread
    // Executors to keep waiting. One is always started first, on this device,
    // to learn what devices there are.
    size_t warm = 1;
    uint32_t first_device = 0;
    // For an executor to report that it is ready.
    absl::Duration start_limit = absl::Minutes(2);
    // Pauses after failed starts: the first, and the one at which they stop to
    // grow.
    absl::Duration first_pause = absl::Seconds(1);
    absl::Duration longest_pause = absl::Minutes(1);
    // Called when executors can be started, or can not, and when that changes.
    std::function<void(bool)> on_health;
  };

  // An executor that no session has yet.
  struct Waiting {
    std::unique_ptr<ExecutorProcess> process;
    uint32_t device = 0;
  };
  using Warm = std::deque<Waiting>;

  // Starts the pool's thread, which starts the first executor at once.
  // `adopted` are executors that the daemon before has started for sessions
  // that are about to be restored: the pool keeps all of them for half a
  // minute, and then as many as are to wait.
  explicit ExecutorPool(Options options, Warm adopted = {});
  // Ends the executors that wait.
  ~ExecutorPool();

  // A ready executor with a context on one of these devices and on no other:
  // one that waited, else one that is started on the first of them. REQUIRES:
  // there is a device. UNAVAILABLE: none could be started; the message says
  // why. Blocks until one is ready. DEADLINE_EXCEEDED: none was ready in time.
  absl::StatusOr<std::unique_ptr<Executor>> Take(
      const std::vector<uint32_t>& devices, absl::Time deadline);

  // The same one, for copies of no session's memory.
  absl::StatusOr<std::unique_ptr<ExecutorProcess>> TakeProcess(
      const std::vector<uint32_t>& devices, absl::Time deadline);

  // While a device is not usable, no executor is kept waiting there but on one
  // that is, and that none could be started on it is not held against the other
  // devices. Does not end an executor that waits there already.
  void SetUsable(uint32_t device, bool usable);

  // The devices that executors have found; waits for the first report.
  // UNAVAILABLE: as Take.
  absl::StatusOr<std::shared_ptr<const DeviceCatalogue>> Devices(
      absl::Time deadline);

  // A daemon's metrics are made of it.
  struct Statistics {
    size_t waiting = 0;
    bool failing = false;  // the last start failed
    // Since the daemon's start.
    uint64_t started = 0;
    uint64_t failed = 0;  // starts
    uint64_t lost = 0;    // while they waited

    // Adds those of another pool.
    Statistics& operator+=(const Statistics& other);
  };
  // As of now; takes the pool's lock.
  Statistics statistics() const;

 private:
  // The pool's thread: starts and ends executors until it is to stop.
  void Run();
  void AddAdopted();
  // One entry for each executor that waits, in the order of warm_.
  std::vector<uint32_t> WarmDevices() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The start of an executor that no call waits for is put off.
  bool Settling() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When Run is to look again though nothing has changed.
  absl::Time NextLook() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The next step; none if there are as many executors as are wanted.
  std::optional<WarmPlan::Step> NextStep() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A usable device; none if none is, or if the devices are not known.
  std::optional<uint32_t> UsableDevice() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out those that are too many, once the time of adopted ones is over.
  Warm TakeLeftOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes out those that wait for a demand that is gone.
  Warm TakeUnwanted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  using Started = absl::StatusOr<std::unique_ptr<ExecutorProcess>>;

  // Starts an executor on each of the devices, side by side, and waits until
  // all are ready. Tries twice if one has started before: an executor that dies
  // as it starts, killed by an operator or for want of memory, says little of
  // the next, and sessions wait that would be lost.
  void Start(const std::vector<uint32_t>& devices);
  // Adds the executor when it is ready. Blocks up to start_limit.
  absl::Status AwaitReady(Started started, uint32_t device);
  // Counts the failure if so.
  bool TriesAgain();
  // Makes a ready executor available to calls of Take.
  void Add(Waiting executor, const internal::Ready& ready);
  // Refuses calls until the pause is over, and doubles the next pause.
  void SetFailed(const absl::Status& status);
  // Takes out those of warm_ that have ended.
  Warm TakeDead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until `done`, or until starting fails.
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
  // No executor is started without a caller before this time; see kSettle.
  absl::Time quiet_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // An executor of warm_ may have ended; how many did since the last Take.
  bool check_warm_ ABSL_GUARDED_BY(mutex_) = false;
  int idle_deaths_ ABSL_GUARDED_BY(mutex_) = 0;
  // The last start failed: why, when to try again, the pause after that.
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  absl::Time retry_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_);
  Statistics statistics_ ABSL_GUARDED_BY(mutex_);  // the sums
  Warm adopted_;  // of the pool's thread, until it has added them
  // No executor is ended as unwanted before; infinitely past: none was adopted.
  absl::Time keep_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::thread thread_;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_EXECUTOR_POOL_H_
