// SPDX-License-Identifier: Apache-2.0
//
// mbarrier objects: 64 bits in the shared memory of a block, all of whose warps
// run on one thread. Only this file knows what the bits mean.
#include <bit>
#include <cstring>

#include "core/software/abi/abi.h"
#include "core/software/abi/window.h"
#include "core/software/runtime/kernel_fault.h"

namespace holdfast::software {
namespace {

constexpr uint64_t kMaxCount = (uint64_t{1} << 20) - 1;

struct Mbarrier {
  uint64_t expected : 20;  // arrivals of the next phase
  uint64_t pending : 20;   // arrivals that this phase still waits for
  int64_t bytes : 21;      // of transactions that it waits for
  uint64_t phase : 1;
  uint64_t unused : 2;

  void CompleteIfDone() {
    if (pending != 0 || bytes != 0) return;
    phase ^= 1;
    pending = expected;
  }
};
static_assert(sizeof(Mbarrier) == 8);

struct Operands {
  uint64_t first;
  uint64_t second;
};

// False: the hardware does not define what happens.
bool Apply(MbarrierOperation operation, const Operands& in, Mbarrier* barrier,
           uint64_t* result) {
  const auto state = std::bit_cast<uint64_t>(*barrier);
  switch (operation) {
    case MbarrierOperation::kInit:
      if (in.first == 0 || in.first > kMaxCount) return false;
      *barrier = {in.first, in.first, 0, 0, 0};
      return true;
    case MbarrierOperation::kExpect:
      barrier->bytes += static_cast<int64_t>(in.first & kMaxCount);
      return true;
    case MbarrierOperation::kComplete:
      barrier->bytes -= static_cast<int64_t>(in.first & kMaxCount);
      barrier->CompleteIfDone();
      return true;
    case MbarrierOperation::kArrive:
    case MbarrierOperation::kDrop:
      if (in.first > barrier->pending) return false;
      *result = state;
      barrier->bytes += static_cast<int64_t>(in.second & kMaxCount);
      barrier->pending -= in.first;
      if (operation == MbarrierOperation::kDrop) barrier->expected -= in.first;
      barrier->CompleteIfDone();
      return true;
    case MbarrierOperation::kTest:
    case MbarrierOperation::kTry:
      *result = std::bit_cast<Mbarrier>(in.first).phase != barrier->phase;
      return true;
    case MbarrierOperation::kTestParity:
    case MbarrierOperation::kTryParity:
      *result = (in.first & 1) != barrier->phase;
      return true;
    case MbarrierOperation::kPendingCount:
      *result = std::bit_cast<Mbarrier>(in.first).pending;
      return true;
  }
  return false;
}

// Does a thread that finds nothing done let others run first?
bool MayWait(MbarrierOperation operation) {
  return operation == MbarrierOperation::kTry ||
         operation == MbarrierOperation::kTryParity;
}

// Leaves the kernel if there can be no barrier at `address`.
void CheckPlace(const WorkerContext& worker, uint64_t address, int lane) {
  const uint32_t lanes = uint32_t{1} << lane;
  if (!GetKernelWindow().Contains(address, sizeof(Mbarrier))) {
    LeaveKernel(worker, {KernelFault::Kind::kAddress, address, lanes});
  }
  if (address % sizeof(Mbarrier) != 0) {
    LeaveKernel(worker, {KernelFault::Kind::kMisaligned, address, lanes,
                         sizeof(Mbarrier)});
  }
}

// Whether all results are other than zero.
bool ApplyAll(WorkerContext* worker, uint32_t lanes,
              MbarrierOperation operation, const uint64_t* addresses,
              const uint64_t* first, const uint64_t* second,
              uint64_t* results) {
  bool all = true;
  for (; lanes != 0; lanes &= lanes - 1) {
    const int lane = std::countr_zero(lanes);
    Mbarrier barrier{};
    auto* place = reinterpret_cast<void*>(addresses[lane]);
    const bool has_place = operation != MbarrierOperation::kPendingCount;
    if (has_place) CheckPlace(*worker, addresses[lane], lane);
    if (has_place) std::memcpy(&barrier, place, sizeof barrier);
    if (!Apply(operation, {first[lane], second[lane]}, &barrier,
               &results[lane])) {
      LeaveKernel(*worker,
                  {KernelFault::Kind::kIllegalInstruction, 0, 1u << lane});
    }
    if (has_place) std::memcpy(place, &barrier, sizeof barrier);
    all = all && results[lane] != 0;
  }
  return all;
}

}  // namespace

extern "C" void holdfast_mbarrier(WorkerContext* worker, uint32_t lanes,
                                  MbarrierOperation operation,
                                  const uint64_t* addresses,
                                  const uint64_t* first, const uint64_t* second,
                                  uint64_t* results) {
  if (ApplyAll(worker, lanes, operation, addresses, first, second, results) ||
      !MayWait(operation)) {
    return;
  }
  holdfast_yield(worker);
  ApplyAll(worker, lanes, operation, addresses, first, second, results);
}

}  // namespace holdfast::software
