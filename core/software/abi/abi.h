// SPDX-License-Identifier: Apache-2.0
//
// The interface between generated code and the runtime. The emitter reads these
// structures by offset.
#ifndef HOLDFAST_CORE_SOFTWARE_ABI_ABI_H_
#define HOLDFAST_CORE_SOFTWARE_ABI_ABI_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::software {

class PrintBuffer;

// One launch; shared by all its workers. RunGrid fills it before the first
// worker runs; it does not change while a worker runs.
struct LaunchContext {
  const uint8_t* parameters = nullptr;  // in the window
  const std::atomic<bool>* cancel = nullptr;
  // Set by the worker whose block faults first. Other blocks then stop waiting
  // for that block.
  const std::atomic<bool>* stopped = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  // The size of a cluster, in blocks. Without clusters, each block is a
  // cluster.
  uint32_t cluster[3] = {1, 1, 1};
  uint32_t explicit_cluster = 0;  // 1: the launch or the kernel sets `cluster`
  uint32_t dynamic_shared_bytes = 0;
  // The offset of reserved shared memory in shared memory, if the kernel uses
  // it.
  uint32_t reserved_shared = 0;
  // The bytes of shared memory that a block may access, in memcheck mode.
  uint64_t shared_bytes = 0;
  // Gets the output of vprintf in device code.
  PrintBuffer* printer = nullptr;
  // In a cooperative launch, the memory in which cooperative_groups keeps its
  // grid barrier (the driver's part of its ABI: a size and a counter); else 0.
  uint64_t grid_workspace = 0;
};

class Warp;

inline constexpr uint32_t kWarpThreads = 32;

// The bytes of a block's shared memory that are reserved for NVIDIA's headers,
// such as for tiles of cooperative groups that are larger than a warp.
// %reserved_smem_offset_1 is kReservedSharedSecond bytes from the beginning of
// the reserved bytes.
inline constexpr uint32_t kReservedSharedBytes = 1024;
inline constexpr uint32_t kReservedSharedSecond = 512;

// Addresses that may be accessed in memcheck mode: those of one buffer, or of
// memory without buffers (buffer_table.h).
struct BufferSpan {
  uint64_t begin = 0;
  uint64_t size = 0;

  // Returns true if all bytes lie in the span; does not overflow.
  bool Contains(uint64_t address, uint64_t bytes) const {
    return bytes <= size && address - begin <= size - bytes;
  }
};
// The number of spans that a worker remembers. An instruction uses the span of
// its index modulo this number.
inline constexpr uint32_t kWorkerSpans = 64;

// The state of one worker thread while it runs blocks, or of one warp that runs
// on a stack of its own. Generated code updates `block` and `warp`, so that the
// report of a fault can name them.
struct WorkerContext {
  uint8_t* shared = nullptr;  // in the window
  // The shared memory of the cluster's first block. The shared memory of the
  // other blocks follows, kSharedStrideBytes apart (shared_memory.h).
  uint8_t* cluster_shared = nullptr;
  // The local variables of the 32 lanes, lane after lane; in the window.
  uint8_t* local = nullptr;
  const LaunchContext* launch = nullptr;
  uint64_t block = 0;
  uint64_t warp = 0;
  void* escape = nullptr;  // the stack to return to when a launch is abandoned
  // Null unless the warps of a block run side by side.
  Warp* fiber = nullptr;
  // Not 0: the warp has passed a barrier of its block since it last let the
  // other warps catch up (holdfast_let_others_read).
  uint32_t is_ahead = 0;
  // kWorkerSpans spans in which accesses of this launch were found; null unless
  // the mode is memcheck.
  BufferSpan* spans = nullptr;
  // The lanes that took part in the last masked access, which not all lanes had
  // to make. Bit i: lane i.
  uint32_t lanes = 0;
  // The instruction that last called a function of the runtime that can fail,
  // by its index in the body of the lowered kernel.
  uint32_t instruction = 0;
  // The addresses of the last access that was made lane by lane. Uninitialized
  // before the first one, because every launch makes such a structure.
  uint64_t addresses[kWarpThreads];
};

// Runs warps [warp_begin, warp_end) of each of blocks [block_begin, block_end).
using KernelFunction = void(const LaunchContext*, WorkerContext*,
                            uint64_t block_begin, uint64_t block_end,
                            uint64_t warp_begin, uint64_t warp_end);

// The functions that generated code calls, by these names.
extern "C" {

// Ends the launch, whose cancel flag is set.
[[noreturn]] void holdfast_cancelled(WorkerContext* worker);

// `lanes` of a warp arrive at a barrier that waits for `threads` threads (0:
// all of the block). `live` are the lanes of the warp that have not ended.
// `predicate` has the lanes' predicates for a reduction. Returns the round that
// the lanes wait for.
uint32_t holdfast_barrier_arrive(WorkerContext* worker, uint32_t barrier,
                                 uint32_t threads, uint32_t lanes,
                                 uint32_t live, uint32_t predicate);
// All 32 lanes of a warp arrive and wait. REQUIRES: none of them has ended.
void holdfast_barrier_sync(WorkerContext* worker, uint32_t barrier,
                           uint32_t threads);
// `lanes` of a warp arrive at the barrier of their cluster.
void holdfast_cluster_arrive(WorkerContext* worker, uint32_t lanes);
// Returns true if the barrier has completed `round`. For kClusterBarrier,
// `round` is a mask of lanes: returns true if the cluster's barrier has
// completed the round in which these lanes arrived.
inline constexpr uint32_t kClusterBarrier = 16;
bool holdfast_barrier_passed(WorkerContext* worker, uint32_t barrier,
                             uint32_t round);
// Returns the number of true predicates in a completed round, with bit 31 set
// if all were true.
uint32_t holdfast_barrier_result(WorkerContext* worker, uint32_t barrier,
                                 uint32_t round);
// Lets other warps run until a barrier completes. Returns after the warp has
// been switched to again.
void holdfast_wait(WorkerContext* worker);
// A warp has ended a block, and is about to run the same warp of the next
// block. Returns when all warps of the block have ended it. REQUIRES: the warp
// runs on a stack of its own.
void holdfast_block_ended(WorkerContext* worker);
// `lanes` of a warp have ended; other lanes of the warp continue.
void holdfast_lanes_ended(WorkerContext* worker, uint32_t lanes);
// Lets other warps run once. Does not return if the launch has failed. A warp
// on a stack of its own yields to the next warp, otherwise to another thread.
void holdfast_yield(WorkerContext* worker);
// Lets each other warp of the block run until it waits, ends, or calls this
// function, too. A warp calls it before the first early store behind a barrier
// (analysis/early_stores.h).
void holdfast_let_others_read(WorkerContext* worker);

// `lanes` have reached a trap of the program, or a trap that lowering has added
// (lower/kernel.h).
[[noreturn]] void holdfast_trap(WorkerContext* worker, uint32_t lanes,
                                uint32_t reason);

// The range of addresses that an access may use.
enum class AddressRoom : uint32_t {
  kWindow,  // the window (window.h)
  kShared,  // the block's shared memory
};
// Checks an access of `bytes` bytes by each of `lanes`. worker->addresses[i] is
// the address of lane i * width; each of the next width - 1 lanes adds
// `stride`. Returns if all addresses lie in `room` and are multiples of
// `bytes`; otherwise ends the launch with the fault of the lowest lane that has
// one.
void holdfast_check_addresses(WorkerContext* worker, uint32_t lanes,
                              uint32_t bytes, uint32_t width, int64_t stride,
                              AddressRoom room);
// Does the same for a caller that has found a bad address, and never returns.
[[noreturn]] void holdfast_bad_address(WorkerContext* worker, uint32_t lanes,
                                       uint32_t bytes, uint32_t width,
                                       int64_t stride, AddressRoom room);

// Does what holdfast_check_addresses does, in memcheck mode: addresses of
// kWindow must lie in buffers, where there are any. Puts the buffer of the last
// lane into worker->spans[span], if it begins at a multiple of 16.
void holdfast_check_buffers(WorkerContext* worker, uint32_t lanes,
                            uint32_t bytes, uint32_t width, int64_t stride,
                            AddressRoom room, uint32_t span);

// An operation on the barriers (mbarrier) at `addresses`. `first` has a count,
// a number of bytes, a state or a parity; `second` has a number of bytes;
// `results` gets a state, a count, or 0 or 1. Each of them is an array of 32
// values, indexed by lane; only the values of `lanes` are used. The lanes
// operate in ascending order.
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

// A bulk copy by each of `lanes`: copies bytes[lane] bytes from from[lane] to
// to[lane]. The operations other than kMove combine elements of `type`
// (ptx::Type) with the elements at to[lane], each element atomically.
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

// Returns %clock64. The clock has 1 GHz, which is the device's
// CU_DEVICE_ATTRIBUTE_CLOCK_RATE, and no adjustment of the time sets it back.
uint64_t holdfast_clock(WorkerContext* worker);
// Returns %globaltimer, in nanoseconds.
uint64_t holdfast_globaltimer(WorkerContext* worker);

// Sets masks[lane] to the lanes of `members` that have the lane's value.
void holdfast_match_any32(WorkerContext* worker, const uint32_t* values,
                          uint32_t members, uint32_t* masks);
void holdfast_match_any64(WorkerContext* worker, const uint64_t* values,
                          uint32_t members, uint32_t* masks);
// Returns `members` if all lanes of `members` have the same value, else 0.
uint32_t holdfast_match_all32(WorkerContext* worker, const uint32_t* values,
                              uint32_t members);
uint32_t holdfast_match_all64(WorkerContext* worker, const uint64_t* values,
                              uint32_t members);

// Implements mma: multiplies matrices as semantics/matrix_product.h says.
// `product` is packed.
void holdfast_multiply_matrices(WorkerContext* worker, uint64_t product,
                                const void* a, const void* b, const void* c,
                                void* d);

// Implement wmma.load and wmma.store: `lanes` move their elements of the matrix
// at worker->addresses[lane] to or from `registers`, which has the registers
// one after the other, each with a word for each of the 32 lanes. `tile` is
// packed (semantics/tile.h); `stride` counts elements from line to line. Both
// end the launch with the fault of the lowest lane that has one.
void holdfast_load_tile(WorkerContext* worker, uint32_t lanes, uint32_t tile,
                        int32_t stride, AddressRoom room, void* registers);
void holdfast_store_tile(WorkerContext* worker, uint32_t lanes, uint32_t tile,
                         int32_t stride, AddressRoom room, void* registers);

// The functions that device code calls, by their names in PTX. Each argument,
// and the result, is an array of 32 values, indexed by lane; only the values of
// `lanes` are used.
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

#endif  // HOLDFAST_CORE_SOFTWARE_ABI_ABI_H_
