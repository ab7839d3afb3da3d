// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/grid.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "core/software/runtime/kernel_fault.h"
#include "core/software/runtime/local_memory.h"
#include "core/software/runtime/shared_memory.h"
#include "core/software/runtime/warp_ring.h"
#include "core/software/runtime/worker_pool.h"

namespace holdfast::software {
namespace {

constexpr uint64_t kWarpThreads = 32;

// Waking workers costs more than running so few threads.
constexpr uint64_t kSmallGridThreads = 8192;

// Chunks for each thread, so that a slow block does not hold up the end.
constexpr uint64_t kChunksPerThread = 16;

const std::atomic<bool> kNeverCancelled{false};

// One launch while it runs. Thread-safe.
class Grid {
 public:
  Grid(const GridKernel& kernel, const LaunchGeometry& geometry,
       const void* parameters, const std::atomic<bool>* cancel)
      : kernel_(kernel), geometry_(geometry) {
    launch_.parameters = static_cast<const uint8_t*>(parameters);
    launch_.cancel = cancel != nullptr ? cancel : &kNeverCancelled;
    launch_.stopped = &stopped_;
    std::copy_n(geometry.grid, 3, launch_.grid);
    std::copy_n(geometry.block, 3, launch_.block);
    if (geometry.cooperative) {
      workspace_[0] = sizeof workspace_;
      launch_.grid_workspace = reinterpret_cast<uint64_t>(workspace_);
    }
    launch_.dynamic_shared_bytes =
        static_cast<uint32_t>(geometry.dynamic_shared_bytes);
    blocks_ = uint64_t{geometry.grid[0]} * geometry.grid[1] * geometry.grid[2];
    threads_ =
        uint64_t{geometry.block[0]} * geometry.block[1] * geometry.block[2];
  }

  LaunchOutcome Run() {
    if (geometry_.cooperative) {
      RunGang();
    } else if (blocks_ == 1 || blocks_ <= kSmallGridThreads / threads_) {
      chunk_ = blocks_;
      RunChunks();
    } else {
      WorkerPool& pool = WorkerPool::Get();
      chunk_ =
          std::max<uint64_t>(1, blocks_ / (kChunksPerThread * pool.threads()));
      pool.Run([this] { RunChunks(); });
    }
    std::lock_guard<std::mutex> lock(mutex_);
    return outcome_;
  }

 private:
  // Blocks of a cooperative launch may wait for each other: each thread takes
  // its share at once and runs it side by side. Two gangs at a time could each
  // hold threads that the other needs.
  void RunGang() {
    static std::mutex& one_at_a_time = *new std::mutex;
    std::lock_guard<std::mutex> lock(one_at_a_time);
    WorkerPool& pool = WorkerPool::Get();
    chunk_ = (blocks_ + pool.threads() - 1) / pool.threads();
    if (chunk_ == blocks_) return RunChunks();
    pool.Run([this] { RunChunks(); });
  }

  // Until there is nothing left or the launch has failed.
  void RunChunks() {
    WorkerContext worker;
    worker.shared = ThreadSharedMemory();
    if (worker.shared == nullptr) return FailForMemory();
    worker.launch = &launch_;
    worker.local = ThreadLocalMemory(WarpLocalBytes());
    if (worker.local == nullptr) return FailForMemory();
    while (!stopped_) {
      if (*launch_.cancel) return Fail({KernelFault::Kind::kCancelled}, worker);
      const uint64_t begin = next_.fetch_add(chunk_);
      if (begin >= blocks_) return;
      const uint64_t end = std::min(begin + chunk_, blocks_);
      const KernelFault fault =
          RunGuarded(&worker, [&] { RunBlocks(&worker, begin, end); });
      if (fault.kind == KernelFault::Kind::kNone) continue;
      if (kernel_.concurrent_warps || geometry_.cooperative) {
        worker.block = WarpRing::OfThread().last().block;
        worker.warp = WarpRing::OfThread().last().warp;
      }
      return Fail(fault, worker);
    }
  }

  void RunBlocks(WorkerContext* worker, uint64_t begin, uint64_t end) {
    if (!kernel_.concurrent_warps && !geometry_.cooperative) {
      const uint64_t warps = (threads_ + kWarpThreads - 1) / kWarpThreads;
      kernel_.function(&launch_, worker, begin, end, 0, warps);
      return;
    }
    const uint64_t together = geometry_.cooperative ? end - begin : 1;
    for (uint64_t block = begin; block < end; block += together) {
      if (stopped_ || !RunTogether(worker->escape, block, together)) return;
    }
  }

  size_t WarpLocalBytes() const {
    return std::max<size_t>(kernel_.local_bytes * kWarpThreads, 1);
  }

  bool RunTogether(void* escape, uint64_t begin, uint64_t count) {
    static thread_local std::vector<uint8_t*> shared;
    shared.clear();
    for (uint64_t i = 0; i < count; ++i) {
      shared.push_back(ThreadSharedMemory(i));
      if (shared.back() == nullptr) return FailForMemory(), false;
    }
    const size_t warps = count * ((threads_ + kWarpThreads - 1) / kWarpThreads);
    uint8_t* local = ThreadLocalMemory(warps * WarpLocalBytes());
    if (local == nullptr) return FailForMemory(), false;
    const RingLaunch launch{kernel_.function,
                            &launch_,
                            begin,
                            &shared,
                            local,
                            WarpLocalBytes(),
                            static_cast<uint32_t>(threads_),
                            escape};
    if (WarpRing::OfThread().Run(launch)) return true;
    return FailForMemory(), false;
  }

  void FailForMemory() {
    stopped_ = true;
    std::lock_guard<std::mutex> lock(mutex_);
    outcome_ = {CUDA_ERROR_OUT_OF_MEMORY,
                absl::StrCat("kernel ", kernel_.name,
                             ": no memory for stacks and shared memory")};
  }

  void Fail(const KernelFault& fault, const WorkerContext& worker) {
    stopped_ = true;
    std::lock_guard<std::mutex> lock(mutex_);
    if (outcome_.result == CUDA_SUCCESS) outcome_ = Describe(fault, worker);
  }

  LaunchOutcome Describe(const KernelFault& fault,
                         const WorkerContext& worker) const {
    const uint64_t x = geometry_.grid[0];
    const uint64_t y = geometry_.grid[1];
    const std::string where =
        absl::StrCat("kernel ", kernel_.name, ", block (", worker.block % x,
                     ",", worker.block / x % y, ",", worker.block / x / y,
                     "), threads ", worker.warp * kWarpThreads, " to ",
                     std::min(threads_, (worker.warp + 1) * kWarpThreads) - 1);
    switch (fault.kind) {
      case KernelFault::Kind::kAddress:
        return {CUDA_ERROR_ILLEGAL_ADDRESS,
                absl::StrCat(where, ": access to address 0x",
                             absl::Hex(fault.address),
                             ", where no memory is mapped")};
      case KernelFault::Kind::kCancelled:
        return {CUDA_ERROR_LAUNCH_TIMEOUT,
                absl::StrCat("kernel ", kernel_.name, " was given up")};
      case KernelFault::Kind::kDeadlock:
        return {CUDA_ERROR_LAUNCH_FAILED,
                absl::StrCat(where, ": deadlock: warps ",
                             WarpRing::OfThread().Waiting(),
                             " wait at a barrier that no other will reach")};
      case KernelFault::Kind::kAssert:
        return {CUDA_ERROR_ASSERT, absl::StrCat(where, ": assertion failed")};
      case KernelFault::Kind::kIllegalInstruction:
        return {CUDA_ERROR_ILLEGAL_INSTRUCTION,
                absl::StrCat(where, ": illegal instruction")};
      case KernelFault::Kind::kTrap:
      case KernelFault::Kind::kNone:
        break;
    }
    return {CUDA_ERROR_LAUNCH_FAILED, absl::StrCat(where, ": trap")};
  }

  const GridKernel kernel_;
  const LaunchGeometry& geometry_;
  LaunchContext launch_;
  uint32_t workspace_[2] = {0, 0};
  uint64_t blocks_ = 0;
  uint64_t threads_ = 0;  // of a block
  uint64_t chunk_ = 1;    // blocks
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  LaunchOutcome outcome_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

LaunchOutcome RunGrid(const GridKernel& kernel, const LaunchGeometry& geometry,
                      const void* parameters, const std::atomic<bool>* cancel) {
  return Grid(kernel, geometry, parameters, cancel).Run();
}

}  // namespace holdfast::software
