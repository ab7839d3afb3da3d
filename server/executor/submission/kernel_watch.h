// SPDX-License-Identifier: Apache-2.0
//
// The time limit for kernels. Each launch is between two marks, which are
// events in its stream: the launch runs from the completion of the first mark
// to the completion of the second. Time in which its stream is busy with
// earlier work, or waits for an event or a semaphore, does not count. Two kinds
// of waiting cannot be distinguished from running, and count: waiting until
// other streams, sessions or processes leave the device, and, in a graph, the
// waits of its nodes.
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
  uint64_t graph_exec = 0;           // handle; 0: the launch of a kernel
  std::vector<std::string> kernels;  // names; for a graph, some of the names
};

// Finds a launch that runs for longer than the session's limit. Adds one or two
// events to the stream for each launch. Thread-safe, except for Launch.
class KernelWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // A launch that runs for longer than the limit.
  struct Overrun {
    WatchedLaunch launch;
    absl::Duration ran;  // it has run for at least this long
  };
  struct Options {
    absl::Duration limit;
    // Called once, by this object's own thread, with the first overrun. Null:
    // there is no thread, and the caller must call Look.
    std::function<void(const Overrun&)> exceeded;
    // Called with the time of each check while a launch is watched, and with
    // nullopt when the last launch has ended. Called with a lock held, so it
    // must be short and must not call this object. May be null.
    std::function<void(std::optional<Clock::time_point>)> looked = nullptr;
  };

  explicit KernelWatch(Options options);
  ~KernelWatch();
  KernelWatch(const KernelWatch&) = delete;
  KernelWatch& operator=(const KernelWatch&) = delete;

  // Records a mark in the stream, calls `give`, which submits a launch to the
  // stream, and records a second mark. Returns the error of the first mark or
  // of `give`. If the second mark fails, logs that the launch is not watched.
  // REQUIRES: one thread at a time.
  absl::Status Launch(const cuda::Stream& stream, WatchedLaunch launch,
                      absl::FunctionRef<absl::Status()> give);

  // Queries the marks. Returns the launch that has run longest, if it is over
  // the limit; else nullopt. The time of a launch begins with the first Look
  // that finds it running.
  std::optional<Overrun> Look(Clock::time_point now);

  // Returns the number of launches that are not known to have ended.
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
  // The unfinished launches of one stream, oldest first, and its last launch.
  struct Queue {
    std::deque<Entry> entries;
    uint64_t last_sequence = 0;
    Mark last_end;
  };

  absl::StatusOr<Mark> MarkStart(const cuda::Stream& stream, uint64_t sequence);
  std::vector<uint64_t> Streams() const;
  // Removes the stream's first launch and returns true if it has ended.
  bool DropEnded(uint64_t stream);
  // Checks the stream's first launch, and returns it if it is over the limit.
  std::optional<Overrun> LookAt(uint64_t stream, Clock::time_point now);
  void EraseIfEmpty(uint64_t stream);
  void Report(std::optional<Clock::time_point> looked)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (options_.looked) options_.looked(looked);
  }
  // Blocks until a launch is watched and a period has passed. Returns false
  // when stopping.
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

// Returns the fault of an executor whose launch has exceeded `limit`. `set_by`
// names the source of the limit, for the message.
internal::Fault TimeLimitFault(const KernelWatch::Overrun& overrun,
                               absl::Duration limit, const std::string& set_by);

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SUBMISSION_KERNEL_WATCH_H_
