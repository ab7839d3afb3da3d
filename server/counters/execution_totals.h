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
  uint64_t launches() const;      // of kernels, not of graphs
  uint64_t all_launches() const;  // of kernels, and of graphs
  uint64_t gpu_time() const;      // nanoseconds, over all devices
  // Sets the launches and the GPU times of `usage`.
  void Report(v1::SessionUsage* usage) const;

  std::array<Command, CommandCounts::kKinds> commands{};
  std::array<Copy, v1::CopyPath_ARRAYSIZE> copies{};
  // Nanoseconds by device; see counters/device_times.h.
  std::array<uint64_t, DeviceTimes::kMaxDevices> gpu_times{};
};

google::protobuf::Duration ToDuration(uint64_t nanoseconds);

// The sums of the counts of a set of executors: all executors of the daemon, of
// a tenant or of a session. Thread-safe.
//
// The counts come from the executors' CounterPages. These are hostile input,
// because executors run clients' code. Impossible counts are ignored: a count
// never decreases, and a page never adds more GPU time to a device than has
// passed since the page was opened.
class ExecutionTotals {
 public:
  // The counts of one executor, which are part of the sums. The counts stay in
  // the sums after the page is destroyed. Thread-safe.
  class Page {
   public:
    ~Page();
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;

    ExecutionCounts Read() const;

    // Returns the GPU time on one device in nanoseconds. REQUIRES, also for
    // busy(): device < DeviceTimes::kMaxDevices.
    uint64_t GpuTime(uint32_t device) const;
    // Returns true if the executor reports work on the device.
    bool busy(uint32_t device) const;
    DeviceTurns& turns() const;

    // Reads the counts for the last time. Called when the executor has ended.
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
    // The largest value read of each count.
    mutable ExecutionCounts seen_ ABSL_GUARDED_BY(mutex_);
  };

  // Adds an executor to these totals and to `others`. `memory` comes from the
  // executor; it is borrowed, and may be closed after the call. Returns null if
  // it is not a CounterPage. REQUIRES: these totals outlive the page.
  std::unique_ptr<Page> Open(
      const UniqueFd& memory,
      std::vector<std::shared_ptr<ExecutionTotals>> others = {});

  ExecutionCounts Sum() const;

  // Counts an executor that died unexpectedly while it had a session.
  void NoteLost() { lost_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

  // Counts a session that was recovered after its executor had died.
  void NoteRecovered() { recovered_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t recovered() const {
    return recovered_.load(std::memory_order_relaxed);
  }

  // Record returns the sums for the next daemon. Add adds the sums that an
  // earlier daemon has recorded.
  internal::ExecutionRecord Record() const;
  void Add(const internal::ExecutionRecord& record);

 private:
  std::atomic<uint64_t> lost_{0};
  std::atomic<uint64_t> recovered_{0};
  mutable absl::Mutex mutex_;
  std::set<const Page*> pages_ ABSL_GUARDED_BY(mutex_);
  ExecutionCounts ended_ ABSL_GUARDED_BY(mutex_);  // of destroyed pages
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COUNTERS_EXECUTION_TOTALS_H_
