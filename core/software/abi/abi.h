// SPDX-License-Identifier: Apache-2.0
//
// The interface between generated code and the runtime of the software driver.
// Generated code, which the emitter makes, reads these structures by offset.
#ifndef HOLDFAST_CORE_SOFTWARE_ABI_ABI_H_
#define HOLDFAST_CORE_SOFTWARE_ABI_ABI_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::software {

class PrintBuffer;

// One launch of a kernel, shared by all worker threads that run its blocks.
// RunGrid fills it before the first worker runs. It does not change while a
// worker runs.
struct LaunchContext {
  const uint8_t* parameters = nullptr;        // in the window
  const std::atomic<bool>* cancel = nullptr;  // true: the launch must end
  // Becomes true when the first block faults. Other blocks then stop waiting
  // for that block.
  const std::atomic<bool>* stopped = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  // The size of a cluster, in blocks. Without clusters, each block is a cluster
  // of its own.
  uint32_t cluster[3] = {1, 1, 1};
  uint32_t explicit_cluster = 0;  // 1: the launch or the kernel sets `cluster`
  uint32_t dynamic_shared_bytes = 0;
  // The offset of the kReservedSharedBytes in a block's shared memory, if the
  // kernel uses them.
  uint32_t reserved_shared = 0;
  // The bytes of shared memory that a block may access, in memcheck mode.
  uint64_t shared_bytes = 0;
  // The buffer for the output of vprintf in device code.
  PrintBuffer* printer = nullptr;
  // In a cooperative launch, the address of the memory for the grid barrier of
  // cooperative_groups, whose ABI requires a size and a counter there; else 0.
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

// A range of addresses that may be accessed in memcheck mode: one buffer, or
// memory that has no buffers (buffer_table.h).
struct BufferSpan {
  uint64_t begin = 0;
  uint64_t size = 0;

  // Returns true if [address, address + bytes) lies in the span; does not
  // overflow.
  bool Contains(uint64_t address, uint64_t bytes) const {
    return bytes <= size && address - begin <= size - bytes;
  }
};
// The number of spans in WorkerContext::spans. An instruction uses the span
// whose index is its own index modulo this number.
inline constexpr uint32_t kWorkerSpans = 64;

// The state of a worker thread while it runs blocks; if each warp of a block
// has a stack of its own, the state of one warp. Generated code updates `block`
// and `warp`, so that the report of a fault can name them.
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
  void* escape = nullptr;  // the stack to which an ended launch returns
  // The warp of this state; null unless each warp has a stack of its own.
  Warp* fiber = nullptr;
  // Not 0: the warp has arrived at a barrier since its last call of
  // holdfast_let_others_read.
  uint32_t is_ahead = 0;
  // kWorkerSpans spans in which earlier accesses of this launch were; null
  // unless the mode is memcheck.
  BufferSpan* spans = nullptr;
  // The lanes that made the last masked access, which is an access of some
  // lanes of the warp. Bit i is lane i, here and in all masks of lanes below.
  uint32_t lanes = 0;
  // The instruction that last called a function of the runtime that can fail,
  // by its index in the body of the lowered kernel.
  uint32_t instruction = 0;
  // The addresses of the last access that was made lane by lane. Not
  // initialised before the first such access, to make launches faster.
  uint64_t addresses[kWarpThreads];
};

// A compiled kernel. It runs the warps [warp_begin, warp_end) of each of the
// blocks [block_begin, block_end).
using KernelFunction = void(const LaunchContext*, WorkerContext*,
                            uint64_t block_begin, uint64_t block_end,
                            uint64_t warp_begin, uint64_t warp_end);

// The functions of the runtime that generated code calls by name. `worker` is
// the state of the calling warp. `lanes` are the lanes for which the code
// calls.
extern "C" {

// Ends the launch. Called when the launch's `cancel` is true.
[[noreturn]] void holdfast_cancelled(WorkerContext* worker);

// Makes `lanes` arrive at a barrier that waits for `threads` threads (0: for
// all of the block). `live` are the lanes of the warp that have not ended.
// `predicate` has the lanes' predicates for a reduction. Does not wait. Returns
// the round of the barrier that completes when all threads have arrived. Ends
// the launch with a fault if there is no such barrier.
uint32_t holdfast_barrier_arrive(WorkerContext* worker, uint32_t barrier,
                                 uint32_t threads, uint32_t lanes,
                                 uint32_t live, uint32_t predicate);
// Makes all 32 lanes of the warp arrive at a barrier, and waits until it
// completes. REQUIRES: no lane has ended.
void holdfast_barrier_sync(WorkerContext* worker, uint32_t barrier,
                           uint32_t threads);
// Makes `lanes` arrive at the barrier of their cluster. Does not wait.
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
// Runs other warps until a barrier completes for which this warp may wait. The
// caller then checks with holdfast_barrier_passed whether it must wait again.
void holdfast_wait(WorkerContext* worker);
// Called by a warp that has ended a block, before it runs the next block.
// Returns when all warps of the block have ended. REQUIRES: the warp runs on a
// stack of its own.
void holdfast_block_ended(WorkerContext* worker);
// Ends `lanes` of the warp; its other lanes continue.
void holdfast_lanes_ended(WorkerContext* worker, uint32_t lanes);
// Runs other warps once. Does not return if the launch has failed. A warp on a
// stack of its own yields to the next warp; any other warp yields its thread to
// another thread (sched_yield).
void holdfast_yield(WorkerContext* worker);
// Runs each other warp of the block until that warp waits, ends, or calls this
// function, too. Called before the first early store after a barrier
// (analysis/early_stores.h).
void holdfast_let_others_read(WorkerContext* worker);

// Ends the launch with the fault of a trap that `lanes` have reached: a trap of
// the program, or one that lowering has added (lower/kernel.h). `reason` says
// which.
[[noreturn]] void holdfast_trap(WorkerContext* worker, uint32_t lanes,
                                uint32_t reason);

// The range of addresses that an access may use.
enum class AddressRoom : uint32_t {
  kWindow,  // the window (window.h)
  kShared,  // the block's shared memory
};
// Checks an access of `bytes` bytes by each of `lanes`. worker->addresses[i] is
// the address of lane i * width, and the address of each of the next width - 1
// lanes is `stride` greater than that of the lane before. Returns if all
// addresses lie in `room` and are multiples of `bytes`; otherwise ends the
// launch with the fault of the lowest lane with a wrong address.
void holdfast_check_addresses(WorkerContext* worker, uint32_t lanes,
                              uint32_t bytes, uint32_t width, int64_t stride,
                              AddressRoom room);
// Ends the launch with the fault that holdfast_check_addresses finds. Called
// when generated code has found a wrong address.
[[noreturn]] void holdfast_bad_address(WorkerContext* worker, uint32_t lanes,
                                       uint32_t bytes, uint32_t width,
                                       int64_t stride, AddressRoom room);

// Makes the checks of holdfast_check_addresses in memcheck mode, in which
// addresses of kWindow must also lie in buffers, except in memory that has no
// buffers. Stores the buffer of the last lane in worker->spans[span], if the
// buffer begins at a multiple of 16.
void holdfast_check_buffers(WorkerContext* worker, uint32_t lanes,
                            uint32_t bytes, uint32_t width, int64_t stride,
                            AddressRoom room, uint32_t span);

// The operations of holdfast_mbarrier on the barriers (mbarrier of PTX) at
// `addresses`. Depending on the operation, `first` has a count, a number of
// bytes, a state or a parity; `second` has a number of bytes; and `results` is
// set to a state, a count, or 0 or 1. Each of the four is an array of 32
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

// The operations of holdfast_bulk_copy, which makes a bulk copy for each of
// `lanes`, of bytes[lane] bytes from from[lane] to to[lane]. kMove copies the
// bytes. The other operations combine elements of `type` (ptx::Type) with the
// elements at to[lane], each element atomically.
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

// Returns %clock64. The clock has 1 GHz, as CU_DEVICE_ATTRIBUTE_CLOCK_RATE
// says, and is monotonic.
uint64_t holdfast_clock(WorkerContext* worker);
// Returns %globaltimer, in nanoseconds.
uint64_t holdfast_globaltimer(WorkerContext* worker);

// Set masks[lane], for each lane of `members`, to the lanes of `members` that
// have the same value as this lane.
void holdfast_match_any32(WorkerContext* worker, const uint32_t* values,
                          uint32_t members, uint32_t* masks);
void holdfast_match_any64(WorkerContext* worker, const uint64_t* values,
                          uint32_t members, uint32_t* masks);
// Return `members` if all lanes of `members` have the same value, else 0.
uint32_t holdfast_match_all32(WorkerContext* worker, const uint32_t* values,
                              uint32_t members);
uint32_t holdfast_match_all64(WorkerContext* worker, const uint64_t* values,
                              uint32_t members);

// Implements mma: multiplies matrices as semantics/matrix_product.h says.
// `product` is packed.
void holdfast_multiply_matrices(WorkerContext* worker, uint64_t product,
                                const void* a, const void* b, const void* c,
                                void* d);

// Implement wmma.load and wmma.store: move the elements of `lanes` between the
// matrix at worker->addresses[lane] and `registers`, which has the registers
// one after the other, each with a word for each of the 32 lanes. `tile` is
// packed (semantics/tile.h). `stride` is the number of elements from line to
// line. Both end the launch with the fault of the lowest lane with a wrong
// address.
void holdfast_load_tile(WorkerContext* worker, uint32_t lanes, uint32_t tile,
                        int32_t stride, AddressRoom room, void* registers);
void holdfast_store_tile(WorkerContext* worker, uint32_t lanes, uint32_t tile,
                         int32_t stride, AddressRoom room, void* registers);

// The functions that device code calls by name. The name in PTX follows
// "holdfast_device_". Each argument, and the result, is an array of 32 values,
// indexed by lane; only the values of `lanes` are used.
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
