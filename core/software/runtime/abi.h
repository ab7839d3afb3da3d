// SPDX-License-Identifier: Apache-2.0
//
// The interface between generated code and the runtime. The emitter reads these
// structures by offset.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_ABI_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_ABI_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::software {

class PrintBuffer;

// One launch; the same for all its workers.
//
// Filled by RunGrid before the first worker runs, and not changed while one
// does.
struct LaunchContext {
  const uint8_t* parameters = nullptr;  // in the window
  const std::atomic<bool>* cancel = nullptr;
  // Set by the worker whose block faults first. Other blocks then stop waiting
  // for that block.
  const std::atomic<bool>* stopped = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  // In blocks. Without clusters, each block is one of its own.
  uint32_t cluster[3] = {1, 1, 1};
  uint32_t explicit_cluster = 0;  // 1: the launch or the kernel asks for it
  uint32_t dynamic_shared_bytes = 0;
  // The offset of reserved shared memory in shared memory, if the kernel uses
  // it.
  uint32_t reserved_shared = 0;
  // Where vprintf of device code writes.
  PrintBuffer* printer = nullptr;
  // In a cooperative launch, the memory in which cooperative_groups keeps its
  // grid barrier (the driver's part of its ABI: a size and a counter); else 0.
  uint64_t grid_workspace = 0;
};

class Warp;

inline constexpr uint32_t kWarpThreads = 32;

// Bytes of shared memory that a block has for code of NVIDIA's headers, such as
// tiles of cooperative groups that are larger than a warp. PTX's
// %reserved_smem_offset_1 is this far from their beginning.
inline constexpr uint32_t kReservedSharedBytes = 1024;
inline constexpr uint32_t kReservedSharedSecond = 512;

// One worker thread while it runs blocks, or one warp that runs on a stack of
// its own. Generated code keeps `block` and `warp` up to date, so that a fault
// can say where it happened.
struct WorkerContext {
  uint8_t* shared = nullptr;  // in the window
  // The shared memory of the first block of the cluster; that of the others
  // follows, kSharedStrideBytes apart (shared_memory.h).
  uint8_t* cluster_shared = nullptr;
  // In the window. Local variables of the 32 lanes, one lane's behind the
  // other's.
  uint8_t* local = nullptr;
  const LaunchContext* launch = nullptr;
  uint64_t block = 0;
  uint64_t warp = 0;
  void* escape = nullptr;  // the stack to return to when a launch is abandoned
  // Null unless the warps of a block run side by side.
  Warp* fiber = nullptr;
  // The lanes that took part in the last access that not all lanes had to make;
  // for the last access lane by lane, its addresses. Bit i: lane i.
  uint32_t lanes = 0;
  // The last call of the runtime that can fail: its index in the body of the
  // lowered kernel.
  uint32_t instruction = 0;
  // Uninitialized before the first access, since every launch makes such a
  // structure.
  uint64_t addresses[kWarpThreads];
};

// Runs warps [warp_begin, warp_end) of each of blocks [block_begin, block_end).
using KernelFunction = void(const LaunchContext*, WorkerContext*,
                            uint64_t block_begin, uint64_t block_end,
                            uint64_t warp_begin, uint64_t warp_end);

// The functions that generated code calls, by these names.
extern "C" {

// The launch's cancel flag is set.
[[noreturn]] void holdfast_cancelled(WorkerContext* worker);

// `lanes` of a warp, of which `live` have not ended, arrive at a barrier that
// waits for `threads` threads (0: all of the block). `predicate` holds what
// they contribute to a reduction. Returns the round that they wait for.
uint32_t holdfast_barrier_arrive(WorkerContext* worker, uint32_t barrier,
                                 uint32_t threads, uint32_t lanes,
                                 uint32_t live, uint32_t predicate);
// All 32 lanes arrive, of which all live, and wait.
void holdfast_barrier_sync(WorkerContext* worker, uint32_t barrier,
                           uint32_t threads);
// `lanes` of a warp arrive at the barrier of their cluster.
void holdfast_cluster_arrive(WorkerContext* worker, uint32_t lanes);
// Whether the barrier has completed `round`. kClusterBarrier: whether it has
// completed the round at which the lanes `round` have arrived.
inline constexpr uint32_t kClusterBarrier = 16;
bool holdfast_barrier_passed(WorkerContext* worker, uint32_t barrier,
                             uint32_t round);
// Returns how many predicates of a completed round were true, with bit 31 set
// if all were.
uint32_t holdfast_barrier_result(WorkerContext* worker, uint32_t barrier,
                                 uint32_t round);
// Lets other warps run until a barrier completes. Returns after the warp has
// been switched to again.
void holdfast_wait(WorkerContext* worker);
// A warp that runs beside others has ended with a block and is about to run the
// same warp of the next one, which begins when all of its warps come. REQUIRES:
// the warp runs on a stack of its own.
void holdfast_block_ended(WorkerContext* worker);
// `lanes` of a warp have ended while others go on.
void holdfast_lanes_ended(WorkerContext* worker, uint32_t lanes);
// Lets other warps run once. Does not come back if the launch has failed. On a
// stack of its own, to the next warp; else to another thread.
void holdfast_yield(WorkerContext* worker);

// `lanes` have reached a trap: of the program, or of those that lowering adds
// (lower/kernel.h).
[[noreturn]] void holdfast_trap(WorkerContext* worker, uint32_t lanes,
                                uint32_t reason);

// The addresses that an access may name.
enum class AddressRoom : uint32_t {
  kWindow,  // those of the window (window.h)
  kShared,  // those of the block's shared memory
};
// `lanes` are about to access `bytes` each. addresses[i] of the worker is the
// address of lane i * width; from there to the next it grows by `stride` a
// lane. Returns if all addresses lie in `room` and are multiples of `bytes`;
// else ends the launch with the fault of the lowest lane whose address is bad.
void holdfast_check_addresses(WorkerContext* worker, uint32_t lanes,
                              uint32_t bytes, uint32_t width, int64_t stride,
                              AddressRoom room);
// The same where it is known that an address is bad.
[[noreturn]] void holdfast_bad_address(WorkerContext* worker, uint32_t lanes,
                                       uint32_t bytes, uint32_t width,
                                       int64_t stride, AddressRoom room);

// Operation on the barriers (mbarrier) at `addresses`. `first` is a count, a
// number of bytes, a state or a parity, `second` a number of bytes;
// results[lane] a state, a count or a truth. Each is an array of 32 values, of
// which those of `lanes` count; the lowest lane comes first.
enum class MbarrierOperation : uint32_t {
  kInit,
  kExpect,
  kComplete,
  kArrive,
  kDrop,
  kTest,
  kTestParity,
  kTry,
  kTryParity,
  kPendingCount,
};
void holdfast_mbarrier(WorkerContext* worker, uint32_t lanes,
                       MbarrierOperation operation, const uint64_t* addresses,
                       const uint64_t* first, const uint64_t* second,
                       uint64_t* results);

// A bulk copy of each of `lanes`: bytes[lane] bytes at from[lane] go to
// to[lane], or are combined, as elements of `type` (ptx::Type), with those that
// are there. An element is combined atomically.
enum class BulkOperation : uint32_t {
  kMove,
  kAdd,
  kMin,
  kMax,
  kInc,
  kDec,
  kAnd,
  kOr,
  kXor,
};
void holdfast_bulk_copy(WorkerContext* worker, uint32_t lanes,
                        BulkOperation operation, uint32_t type,
                        const uint64_t* to, const uint64_t* from,
                        const uint64_t* bytes, uint64_t* results);

// Nanoseconds, for %globaltimer.
uint64_t holdfast_globaltimer(WorkerContext* worker);

// masks[lane]: the lanes of `members` with the same value.
void holdfast_match_any32(WorkerContext* worker, const uint32_t* values,
                          uint32_t members, uint32_t* masks);
void holdfast_match_any64(WorkerContext* worker, const uint64_t* values,
                          uint32_t members, uint32_t* masks);
// `members` if all of them have one value, else 0.
uint32_t holdfast_match_all32(WorkerContext* worker, const uint32_t* values,
                              uint32_t members);
uint32_t holdfast_match_all64(WorkerContext* worker, const uint64_t* values,
                              uint32_t members);

// Functions of device code by their names in PTX. Each argument and the result
// is an array of 32 values, of which those of `lanes` count.
void holdfast_device_vprintf(WorkerContext* worker, uint32_t lanes,
                             const uint64_t* formats, const uint64_t* buffers,
                             uint64_t* results);
[[noreturn]] void holdfast_device___assertfail(
    WorkerContext* worker, uint32_t lanes, const uint64_t* messages,
    const uint64_t* files, const uint64_t* lines, const uint64_t* functions,
    const uint64_t* character_sizes, uint64_t* results);
void holdfast_device_malloc(WorkerContext* worker, uint32_t lanes,
                            const uint64_t* sizes, uint64_t* results);
void holdfast_device_free(WorkerContext* worker, uint32_t lanes,
                          const uint64_t* pointers, uint64_t* results);
void holdfast_device_cudaGraphSetConditional(WorkerContext* worker,
                                             uint32_t lanes,
                                             const uint64_t* handles,
                                             const uint64_t* values,
                                             uint64_t* results);

}  // extern "C"

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_ABI_H_
