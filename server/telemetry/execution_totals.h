// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_TELEMETRY_EXECUTION_TOTALS_H_
#define HOLDFAST_SERVER_TELEMETRY_EXECUTION_TOTALS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "server/telemetry/counter_page.h"

namespace holdfast {

// Counts of the work that executors have done.
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
  uint64_t launches() const;  // of kernels, without those of graphs

  std::array<Command, CommandCounts::kKinds> commands{};
  std::array<Copy, v1::CopyPath_ARRAYSIZE> copies{};
};

// Sums what all executors of the daemon's life have counted. Thread-safe.
//
// Pages are written by processes that run clients' code. A count that falls,
// or that no executor can reach, is not believed: sums never fall.
class ExecutionTotals {
 public:
  // One executor's counts; in the sum from now on. When it goes, what it had
  // counted stays in the sum. Thread-safe.
  class Page {
   public:
    ~Page();
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;

    ExecutionCounts Read() const;

   private:
    friend class ExecutionTotals;
    Page(ExecutionTotals& totals, FileMapping mapping);

    ExecutionTotals& totals_;
    const FileMapping mapping_;
    mutable absl::Mutex mutex_;
    // The largest that was read of each.
    mutable ExecutionCounts seen_ ABSL_GUARDED_BY(mutex_);
  };

  // Null if `memory`, which an executor sent, is no memory of a CounterPage.
  // The totals must outlive the page.
  std::unique_ptr<Page> Open(const UniqueFd& memory);

  ExecutionCounts Sum() const;

  // An executor has died that had a session and was not told to stop.
  void NoteLost() { lost_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> lost_{0};
  mutable absl::Mutex mutex_;
  std::set<const Page*> pages_ ABSL_GUARDED_BY(mutex_);
  ExecutionCounts ended_ ABSL_GUARDED_BY(mutex_);  // of pages that are gone
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_TELEMETRY_EXECUTION_TOTALS_H_
