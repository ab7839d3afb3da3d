// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COUNTERS_EXECUTION_TOTALS_H_
#define HOLDFAST_SERVER_COUNTERS_EXECUTION_TOTALS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "holdfast/internal/restart.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/counters/counter_page.h"

namespace holdfast {

// Counts of the work that executors have done, and its GPU time.
struct ExecutionCounts {
  struct Command {
    uint64_t done = 0;
    uint64_t failed = 0;
  };
  struct Copy {
    uint64_t copies = 0;
    uint64_t bytes = 0;
  };

  ExecutionCounts& operator+=(const ExecutionCounts& other);
  uint64_t launches() const;      // of kernels, without those of graphs
  uint64_t all_launches() const;  // of kernels, and of graphs
  uint64_t gpu_time() const;      // over all devices
  void Report(v1::SessionUsage* usage) const;

  std::array<Command, CommandCounts::kKinds> commands{};
  std::array<Copy, v1::CopyPath_ARRAYSIZE> copies{};
  // Nanoseconds by device; counters/device_times.h says of what.
  std::array<uint64_t, DeviceTimes::kMaxDevices> gpu_times{};
};

google::protobuf::Duration ToDuration(uint64_t nanoseconds);

// Sums what some executors have counted: all of the daemon's life, those of a
// tenant, those of a session. Thread-safe.
//
// Pages are written by processes that run clients' code. A count that falls,
// or that no executor can reach, is not believed: sums never fall, and no
// device has had more GPU time than has passed.
class ExecutionTotals {
 public:
  // One executor's counts; in the sums from now on. When it goes, what it had
  // counted stays in the sums. Thread-safe.
  class Page {
   public:
    ~Page();
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;

    ExecutionCounts Read() const;

    // Nanoseconds. REQUIRES: device < DeviceTimes::kMaxDevices.
    uint64_t GpuTime(uint32_t device) const;
    // Whether the executor says that it has work on the device.
    bool busy(uint32_t device) const;
    DeviceTurns& turns() const;

    // The executor has ended: its counts stay as they are.
    void End();

   private:
    friend class ExecutionTotals;
    using Others = std::vector<std::shared_ptr<ExecutionTotals>>;
    Page(ExecutionTotals& totals, Others others, FileMapping mapping);

    void Join(ExecutionTotals& totals) const;
    void Leave(ExecutionTotals& totals) const;
    CounterPage& page() const;
    void ReadTime(size_t device) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

    ExecutionTotals& totals_;
    const Others others_;
    const FileMapping mapping_;
    const uint64_t opened_ = DeviceTimes::Now();
    mutable absl::Mutex mutex_;
    bool ended_ ABSL_GUARDED_BY(mutex_) = false;
    // The largest that was read of each.
    mutable ExecutionCounts seen_ ABSL_GUARDED_BY(mutex_);
  };

  // Adds an executor to these totals, which must outlive the page, and to
  // others. Null if `memory`, which it sent, is no memory of a CounterPage.
  std::unique_ptr<Page> Open(
      const UniqueFd& memory,
      std::vector<std::shared_ptr<ExecutionTotals>> others = {});

  ExecutionCounts Sum() const;

  // An executor has died that had a session and was not told to stop.
  void NoteLost() { lost_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

  // A session whose executor had died has another one, and all that it had.
  void NoteRecovered() { recovered_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t recovered() const {
    return recovered_.load(std::memory_order_relaxed);
  }

  // The sums for the next daemon, and those of the daemon before, which this
  // one goes on from.
  internal::ExecutionRecord Record() const;
  void Add(const internal::ExecutionRecord& record);

 private:
  std::atomic<uint64_t> lost_{0};
  std::atomic<uint64_t> recovered_{0};
  mutable absl::Mutex mutex_;
  std::set<const Page*> pages_ ABSL_GUARDED_BY(mutex_);
  ExecutionCounts ended_ ABSL_GUARDED_BY(mutex_);  // of pages that are gone
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COUNTERS_EXECUTION_TOTALS_H_
