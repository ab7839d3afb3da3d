// SPDX-License-Identifier: Apache-2.0
//
// The limit of time for kernels. A launch lies between two marks of its stream:
// it may run from when the first is done, and has ended when the second is. So
// the time before does not count in which the stream was busy with earlier
// work, or waited for an event or a semaphore. Two things cannot be told from
// running and do count: waiting for other streams, sessions or processes to
// leave the device, and, in a graph, whatever its nodes wait for.
#ifndef HOLDFAST_SERVER_EXECUTOR_SUBMISSION_KERNEL_WATCH_H_
#define HOLDFAST_SERVER_EXECUTOR_SUBMISSION_KERNEL_WATCH_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/cuda/event.h"
#include "core/cuda/stream.h"
#include "holdfast/internal/executor.pb.h"
#include "server/executor/submission/event_pool.h"

namespace holdfast::executor {

// A launch, for the report of its fault.
struct WatchedLaunch {
  uint64_t sequence = 0;  // of the command
  uint32_t device = 0;
  uint64_t graph_exec = 0;           // handle; 0: it is a kernel's
  std::vector<std::string> kernels;  // names; of a graph, some
};

// Finds a launch that runs for longer than the session's limit. Costs a launch
// one or two events in its stream. Thread-safe, but for Launch.
class KernelWatch {
 public:
  using Clock = std::chrono::steady_clock;

  struct Overrun {
    WatchedLaunch launch;
    absl::Duration ran;  // at least
  };
  struct Options {
    absl::Duration limit;
    // Called once, by a thread of the watch's own. Null: there is no such
    // thread, and only Look looks.
    std::function<void(const Overrun&)> exceeded;
    // Told when it has looked, and nullopt when there is nothing to look for.
    // Called with a lock held: short, and not back. May be null.
    std::function<void(std::optional<Clock::time_point>)> looked = nullptr;
  };

  explicit KernelWatch(Options options);
  ~KernelWatch();
  KernelWatch(const KernelWatch&) = delete;
  KernelWatch& operator=(const KernelWatch&) = delete;

  // Calls `give`, which gives the stream a launch, between two marks. Returns
  // its error. One thread.
  absl::Status Launch(const cuda::Stream& stream, WatchedLaunch launch,
                      absl::FunctionRef<absl::Status()> give);

  // Returns the launch that has run longest, if that is more than the limit.
  // A launch is known to run from the first call that finds it running on.
  std::optional<Overrun> Look(Clock::time_point now);

  // Launches that are not known to have ended.
  size_t watched() const;

 private:
  using Mark = std::shared_ptr<const cuda::Event>;
  struct Entry {
    uint64_t number = 0;
    WatchedLaunch launch;
    Mark start;
    Mark end;
    std::optional<Clock::time_point> running_since;
  };
  // The launches of one stream, oldest first, and the last that it was given.
  struct Queue {
    std::deque<Entry> entries;
    uint64_t last_sequence = 0;
    Mark last_end;
  };

  absl::StatusOr<Mark> MarkStart(const cuda::Stream& stream, uint64_t sequence);
  std::vector<uint64_t> Streams() const;
  // Takes out the stream's first launch if it has ended.
  bool DropEnded(uint64_t stream);
  // How the stream's first launch stands.
  std::optional<Overrun> LookAt(uint64_t stream, Clock::time_point now);
  void EraseIfEmpty(uint64_t stream);
  void Report(std::optional<Clock::time_point> looked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (options_.looked) options_.looked(looked);
  }
  // Blocks until there is something to look at. False: stopping.
  bool AwaitNextLook();
  void Run();

  const Options options_;
  const std::shared_ptr<EventPool> events_ = std::make_shared<EventPool>();
  mutable absl::Mutex mutex_;  // not held while the driver is called
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t watched_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Queue> queues_ ABSL_GUARDED_BY(mutex_);  // by Stream::id
  std::thread thread_;
};

// The last word of an executor one of whose launches has exceeded `limit`,
// which was set by `set_by`.
internal::Fault TimeLimitFault(const KernelWatch::Overrun& overrun,
                               absl::Duration limit, const std::string& set_by);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_KERNEL_WATCH_H_
