// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/grid.h"

#include <sys/mman.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "core/software/runtime/guarded_call.h"
#include "core/software/runtime/worker_pool.h"

namespace holdfast::software {
namespace {

// A thread's shared memory. Offsets into it are signed 32-bit numbers, so with
// this much reserved on both sides none can reach anything else.
class SharedArena {
 public:
  SharedArena() {
    void* at = mmap(nullptr, 2 * kReach, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return;
    reserved_ = static_cast<uint8_t*>(at);
    if (mprotect(reserved_ + kReach, kBytes, PROT_READ | PROT_WRITE) != 0) {
      munmap(reserved_, 2 * kReach);
      reserved_ = nullptr;
    }
  }
  ~SharedArena() {
    if (reserved_ != nullptr) munmap(reserved_, 2 * kReach);
  }

  uint8_t* base() const {
    return reserved_ == nullptr ? nullptr : reserved_ + kReach;
  }

 private:
  static constexpr size_t kReach = (size_t{1} << 31) + (size_t{1} << 20);
  static constexpr size_t kBytes = 256 * 1024;
  uint8_t* reserved_ = nullptr;
};

class Grid {
 public:
  Grid(KernelFunction* function, absl::string_view name,
       const LaunchGeometry& geometry, const void* parameters,
       const std::atomic<bool>* cancel)
      : function_(function), name_(name), geometry_(geometry) {
    launch_.parameters = static_cast<const uint8_t*>(parameters);
    launch_.cancel = cancel;
    std::copy(geometry.grid, geometry.grid + 3, launch_.grid);
    launch_.dynamic_shared_bytes =
        static_cast<uint32_t>(geometry.dynamic_shared_bytes);
    blocks_ = uint64_t{geometry.grid[0]} * geometry.grid[1] * geometry.grid[2];
    threads_ =
        uint64_t{geometry.block[0]} * geometry.block[1] * geometry.block[2];
  }

  LaunchOutcome Run() {
    WorkerPool& pool = WorkerPool::Get();
    // Below this much work, waking another thread costs more than it brings.
    constexpr uint64_t kSmallGrid = 16 * 1024;
    const uint64_t useful = blocks_ * threads_ <= kSmallGrid
                                ? 1
                                : std::min<uint64_t>(pool.threads(), blocks_);
    share_ = std::max<uint64_t>(1, blocks_ / (useful * 8));
    pool.Run(static_cast<int>(useful) - 1, [this] { Work(); });
    absl::MutexLock lock(&mutex_);
    return outcome_;
  }

 private:
  void Work() {
    static thread_local SharedArena arena;
    if (arena.base() == nullptr) {
      return Stop(CUDA_ERROR_OUT_OF_MEMORY,
                  "no address space for shared memory");
    }
    WorkerContext worker;
    worker.shared = arena.base();
    while (!stopped_.load(std::memory_order_relaxed)) {
      const uint64_t begin = next_.fetch_add(share_, std::memory_order_relaxed);
      if (begin >= blocks_) return;
      RunBlocks(&worker, begin, std::min(begin + share_, blocks_));
    }
  }

  void RunBlocks(WorkerContext* worker, uint64_t begin, uint64_t end) {
    struct Call {
      Grid* grid;
      WorkerContext* worker;
      uint64_t begin, end;
    } call{this, worker, begin, end};
    const CallOutcome outcome = GuardedCall(
        worker,
        [](void* argument) {
          auto* call = static_cast<Call*>(argument);
          const Grid& grid = *call->grid;
          grid.function_(&grid.launch_, call->worker, call->begin, call->end, 0,
                         (grid.threads_ + 31) / 32);
        },
        &call);
    if (outcome.end == CallEnd::kCancelled) {
      Stop(CUDA_ERROR_LAUNCH_TIMEOUT,
           absl::StrCat("kernel ", name_, " was cancelled"));
    } else if (outcome.end == CallEnd::kFault) {
      Stop(CUDA_ERROR_ILLEGAL_ADDRESS, FaultMessage(*worker, outcome));
    } else if (launch_.cancel->load(std::memory_order_relaxed) &&
               end < blocks_) {
      Stop(CUDA_ERROR_LAUNCH_TIMEOUT,
           absl::StrCat("kernel ", name_, " was cancelled"));
    }
  }

  std::string FaultMessage(const WorkerContext& worker,
                           const CallOutcome& outcome) const {
    const uint64_t x = geometry_.grid[0], y = geometry_.grid[1];
    const uint64_t first = worker.warp * 32;
    return absl::StrFormat(
        "kernel %s: illegal access at 0x%x in block (%d,%d,%d), threads %d to "
        "%d",
        name_, outcome.fault_address, worker.block % x, worker.block / x % y,
        worker.block / x / y, first, std::min(first + 31, threads_ - 1));
  }

  // The first reason stays.
  void Stop(CUresult result, std::string message) {
    stopped_.store(true, std::memory_order_relaxed);
    absl::MutexLock lock(&mutex_);
    if (outcome_.result != CUDA_SUCCESS) return;
    outcome_.result = result;
    outcome_.message = std::move(message);
  }

  KernelFunction* const function_;
  const absl::string_view name_;
  const LaunchGeometry& geometry_;
  LaunchContext launch_;
  uint64_t blocks_ = 0;
  uint64_t threads_ = 0;  // of a block
  uint64_t share_ = 1;    // blocks a worker takes at once
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> stopped_{false};
  absl::Mutex mutex_;
  LaunchOutcome outcome_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

LaunchOutcome RunGrid(KernelFunction* function, absl::string_view name,
                      const LaunchGeometry& geometry, const void* parameters,
                      const std::atomic<bool>* cancel) {
  return Grid(function, name, geometry, parameters, cancel).Run();
}

}  // namespace holdfast::software
