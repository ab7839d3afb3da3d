// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/grid.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/abi/shared_memory.h"
#include "core/software/base/mutex.h"
#include "core/software/runtime/fault_report.h"
#include "core/software/runtime/kernel_fault.h"
#include "core/software/runtime/launch_memory.h"
#include "core/software/runtime/local_memory.h"
#include "core/software/runtime/print_buffer.h"
#include "core/software/runtime/warp_scheduler.h"
#include "core/software/runtime/worker_pool.h"

namespace holdfast::software {
namespace {

using Clock = std::chrono::steady_clock;

// So few threads may be done before other workers are awake, which takes about
// so long.
constexpr uint64_t kSmallGridThreads = 8192;
constexpr std::chrono::microseconds kWaking{20};

// Chunks for each thread, so that a slow block does not hold up the end.
constexpr uint64_t kChunksPerThread = 16;

// Warps of a chunk, since a block of one thread takes as long as a whole warp.
// The largest grid has 2^63 blocks, and a cancelled launch ends only after the
// chunk, unless the kernel has loops, or warps that wait for each other: these
// look at the flag themselves.
constexpr uint64_t kMaxChunkWarps = 1 << 15;

// The blocks and warps of one thread that run side by side where blocks may
// wait for each other: so many are on a multiprocessor of a GPU at a time.
constexpr uint64_t kResidentBlocks = 32;
constexpr uint64_t kResidentWarps = 64;

const std::atomic<bool> kNeverCancelled{false};

// cooperative_groups finds this number in the first word of the workspace.
constexpr uint32_t kWorkspaceBytes = 2 * sizeof(uint32_t);

// The spans of the thread for a new launch; null unless the mode is memcheck.
BufferSpan* ClearedSpans() {
  if (BufferTable::Get() == nullptr) return nullptr;
  static thread_local BufferSpan spans[kWorkerSpans];
  std::fill(std::begin(spans), std::end(spans), BufferSpan{});
  return spans;
}

// One launch while it runs. Thread-safe.
class Grid {
 public:
  Grid(const GridKernel& kernel, const LaunchGeometry& geometry,
       const void* parameters, const std::atomic<bool>* cancel)
      : kernel_(kernel),
        geometry_(geometry),
        memory_(parameters, kernel.lowered->parameter_bytes),
        printer_(geometry.print_bytes) {
    threads_ =
        uint64_t{geometry.block[0]} * geometry.block[1] * geometry.block[2];
    if (!memory_.ok()) return;
    launch_.printer = &printer_;
    launch_.parameters = memory_.parameters();
    launch_.cancel = cancel != nullptr ? cancel : &kNeverCancelled;
    launch_.stopped = &stopped_;
    std::copy_n(geometry.grid, 3, launch_.grid);
    std::copy_n(geometry.block, 3, launch_.block);
    if (geometry.cluster[0] != 0) {
      std::copy_n(geometry.cluster, 3, launch_.cluster);
      launch_.explicit_cluster = 1;
    }
    cluster_blocks_ =
        launch_.cluster[0] * launch_.cluster[1] * launch_.cluster[2];
    if (geometry.cooperative) {
      memory_.workspace()[0] = kWorkspaceBytes;
      launch_.grid_workspace = reinterpret_cast<uint64_t>(memory_.workspace());
    }
    launch_.dynamic_shared_bytes =
        static_cast<uint32_t>(geometry.dynamic_shared_bytes);
    if (kernel.lowered->uses_shared || geometry.dynamic_shared_bytes > 0) {
      shared_bytes_ = SharedBytes(*kernel.lowered, geometry);
    }
    if (kernel.lowered->uses_reserved_shared) {
      const uint64_t own = SharedBytes(*kernel.lowered, geometry);
      launch_.reserved_shared = static_cast<uint32_t>((own + 127) / 128 * 128);
      shared_bytes_ = launch_.reserved_shared + kReservedSharedBytes;
    }
    launch_.shared_bytes = shared_bytes_.value_or(0);
    blocks_ = uint64_t{geometry.grid[0]} * geometry.grid[1] * geometry.grid[2];
  }

  LaunchOutcome Run() {
    if (!memory_.ok()) {
      FailForMemory();
    } else if (geometry_.cooperative) {
      RunGang();
    } else if (WaitsForBlocks()) {
      WorkerPool& pool = WorkerPool::Get();
      chunk_ = ResidentChunkFor(pool.threads());
      pool.Run([this] { RunChunks(); });
    } else if (!DoneAlone()) {
      WorkerPool& pool = WorkerPool::Get();
      chunk_ = ChunkFor(pool.threads());
      pool.Run([this] { RunChunks(); });
    }
    if (!stopped_) return {};
    MutexLock lock(&mutex_);
    return std::move(outcome_);
  }

 private:
  // Blocks of a cooperative launch may wait for each other: each thread takes
  // its share at once and runs it side by side. Two gangs at a time could each
  // hold threads that the other needs.
  void RunGang() {
    static Mutex& one_at_a_time = *new Mutex;
    MutexLock lock(&one_at_a_time);
    WorkerPool& pool = WorkerPool::Get();
    chunk_ = WholeClusters((blocks_ + pool.threads() - 1) / pool.threads());
    if (chunk_ == blocks_) return RunChunks();
    pool.Run([this] { RunChunks(); });
  }

  // A small grid is, unless its threads take long.
  bool DoneAlone() {
    if (blocks_ > 1 && blocks_ > kSmallGridThreads / threads_) return false;
    chunk_ = ChunkFor(1);
    // To read a clock takes as long as a small block.
    if (blocks_ == 1) return RunChunksUntil(std::nullopt);
    return RunChunksUntil(Clock::now() + kWaking);
  }

  // A plain launch whose blocks may wait for each other. CUDA promises nothing
  // then, but a GPU runs all blocks that have room, and programs rely on it.
  bool WaitsForBlocks() const {
    return kernel_.lowered->may_spin && blocks_ > 1;
  }

  // The blocks that each of `threads` runs side by side.
  uint64_t ResidentChunkFor(int threads) const {
    const uint64_t most =
        std::clamp<uint64_t>(kResidentWarps / BlockWarps(), 1, kResidentBlocks);
    const auto count = static_cast<uint64_t>(threads);
    return WholeClusters(std::min((blocks_ + count - 1) / count, most));
  }

  // The blocks that each of `threads` takes next of those that are left.
  uint64_t ChunkFor(int threads) const {
    const uint64_t share = (blocks_ - next_) / (kChunksPerThread * threads);
    return WholeClusters(
        std::clamp<uint64_t>(share, 1, kMaxChunkWarps / BlockWarps()));
  }

  // Rounds up: a thread takes all blocks of a cluster.
  uint64_t WholeClusters(uint64_t blocks) const {
    return (blocks + cluster_blocks_ - 1) / cluster_blocks_ * cluster_blocks_;
  }

  void RunChunks() { RunChunksUntil(std::nullopt); }

  // Until there is nothing left or the launch has failed; false: until `end`.
  bool RunChunksUntil(std::optional<Clock::time_point> end) {
    WorkerContext worker;
    if (!Equip(&worker)) return true;
    while (!stopped_ && RunChunk(&worker)) {
      if (next_ >= blocks_) return true;
      if (end.has_value() && Clock::now() >= *end) return false;
    }
    return true;
  }

  bool Equip(WorkerContext* worker) {
    worker->launch = &launch_;
    worker->shared = ThreadSharedMemory(shared_bytes_);
    worker->cluster_shared = worker->shared;
    worker->local = ThreadLocalMemory(WarpLocalBytes());
    worker->spans = ClearedSpans();
    if (worker->shared != nullptr && worker->local != nullptr) return true;
    FailForMemory();
    return false;
  }

  // False: there was nothing left, or it failed.
  bool RunChunk(WorkerContext* worker) {
    if (*launch_.cancel) {
      return Fail({KernelFault::Kind::kCancelled}, *worker);
    }
    const uint64_t begin = next_.fetch_add(chunk_);
    if (begin >= blocks_) return false;
    const uint64_t end = std::min(begin + chunk_, blocks_);
    const std::optional<KernelFault> fault =
        RunGuarded(worker, [&] { RunBlocks(worker, begin, end); });
    if (!fault.has_value()) return true;
    return Fail(*fault,
                Scheduled() ? WarpScheduler::OfThread().last() : *worker);
  }

  // Each warp has a stack of its own.
  bool Scheduled() const {
    return kernel_.lowered->concurrent_warps || geometry_.cooperative ||
           cluster_blocks_ > 1;
  }

  // The positions [begin, end): see BlockAt.
  void RunBlocks(WorkerContext* worker, uint64_t begin, uint64_t end) {
    if (!Scheduled()) {
      kernel_.code->function()(&launch_, worker, begin, end, 0, BlockWarps());
      return;
    }
    const uint64_t count = end - begin;
    if (geometry_.cooperative || WaitsForBlocks()) {
      RunTogether(worker, begin, count, 1);
    } else if (cluster_blocks_ == 1) {
      RunTogether(worker, begin, 1, count);
    } else {
      RunClusters(worker, begin, end);
    }
  }

  void RunClusters(WorkerContext* worker, uint64_t begin, uint64_t end) {
    for (; begin < end && !stopped_; begin += cluster_blocks_) {
      if (*launch_.cancel) {
        Fail({KernelFault::Kind::kCancelled}, *worker);
        return;
      }
      RunTogether(worker, begin, cluster_blocks_, 1);
    }
  }

  // Returns the number in the grid of the block at a position. The blocks of a
  // cluster have positions that follow each other, in the order of their ranks.
  uint64_t BlockAt(uint64_t position) const {
    if (cluster_blocks_ == 1) return position;
    uint64_t cluster = position / cluster_blocks_;
    uint64_t rank = position % cluster_blocks_;
    uint64_t block = 0;
    uint64_t row = 1;
    for (int i = 0; i < 3; ++i) {
      const uint32_t size = launch_.cluster[i];
      const uint32_t clusters = launch_.grid[i] / size;
      block += (cluster % clusters * size + rank % size) * row;
      cluster /= clusters;
      rank /= size;
      row *= launch_.grid[i];
    }
    return block;
  }

  // Where the block of place `i` runs; null shared memory: there is none.
  BlockPlace PlaceFor(uint64_t block, uint64_t i) const {
    if (cluster_blocks_ == 1) {
      uint8_t* shared = ThreadSharedMemory(shared_bytes_, i);
      return {block, shared, shared};
    }
    const uint64_t first = i / cluster_blocks_ * kMaxClusterBlocks;
    const uint64_t number = first + i % cluster_blocks_;
    return {block, ThreadSharedMemory(shared_bytes_, number),
            ThreadSharedMemory(std::nullopt, first)};
  }

  uint64_t BlockWarps() const {
    return (threads_ + kWarpThreads - 1) / kWarpThreads;
  }

  size_t WarpLocalBytes() const {
    return std::max<size_t>(kernel_.lowered->local_bytes * kWarpThreads, 1);
  }

  // `places` blocks at a time, `in_turn` in each place.
  void RunTogether(const WorkerContext* worker, uint64_t begin, uint64_t places,
                   uint64_t in_turn) {
    static thread_local std::vector<BlockPlace> taken;
    taken.clear();
    for (uint64_t i = 0; i < places; ++i) {
      taken.push_back(PlaceFor(BlockAt(begin + i), i));
      if (taken.back().shared == nullptr) return FailForMemory();
    }
    uint8_t* local =
        ThreadLocalMemory(places * BlockWarps() * WarpLocalBytes());
    if (local == nullptr) return FailForMemory();
    const SchedulerLaunch launch{kernel_.code->function(),
                                 &launch_,
                                 &taken,
                                 in_turn,
                                 cluster_blocks_,
                                 local,
                                 WarpLocalBytes(),
                                 static_cast<uint32_t>(threads_),
                                 worker->escape,
                                 worker->spans};
    if (!WarpScheduler::OfThread().Run(launch)) FailForMemory();
  }

  void FailForMemory() {
    stopped_ = true;
    MutexLock lock(&mutex_);
    // A launch that has begun fails as a kernel does. CUDA_ERROR_OUT_OF_MEMORY
    // would be a refusal, after which a context goes on.
    outcome_ = {CUDA_ERROR_LAUNCH_FAILED,
                absl::StrCat("kernel ", kernel_.lowered->function->name,
                             ": no memory for stacks, local memory, parameters "
                             "and shared memory of blocks of ",
                             threads_, " threads")};
  }

  bool Fail(const KernelFault& fault, const WorkerContext& worker) {
    stopped_ = true;
    MutexLock lock(&mutex_);
    if (outcome_.result != CUDA_SUCCESS) return false;
    const FaultReport report{
        *kernel_.lowered, *kernel_.code, geometry_,
        worker,           fault,         WarpScheduler::OfThread().Waiting()};
    outcome_ = report.Describe();
    return false;
  }

  const GridKernel kernel_;
  const LaunchGeometry& geometry_;
  const LaunchMemory memory_;
  PrintBuffer printer_;
  LaunchContext launch_;
  // Of a block; nullopt: the kernel names none.
  std::optional<size_t> shared_bytes_;
  uint64_t blocks_ = 0;
  uint64_t threads_ = 0;  // of a block
  uint32_t cluster_blocks_ = 1;
  uint64_t chunk_ = 1;  // blocks
  std::atomic<uint64_t> next_{0};
  std::atomic<bool> stopped_{false};  // it has failed
  Mutex mutex_;
  LaunchOutcome outcome_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

LaunchOutcome RunGrid(const GridKernel& kernel, const LaunchGeometry& geometry,
                      const void* parameters, const std::atomic<bool>* cancel) {
  return Grid(kernel, geometry, parameters, cancel).Run();
}

}  // namespace holdfast::software
