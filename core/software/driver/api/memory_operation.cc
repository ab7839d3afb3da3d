// SPDX-License-Identifier: Apache-2.0
//
// Entry points: streams that wait for values in memory, and write them.
#include <atomic>
#include <chrono>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/software/driver/call.h"

using namespace holdfast::software;

namespace {

// One operation of a batch, checked.
struct MemoryOperation {
  enum class Kind { kWait, kWrite, kNone };
  Kind kind = Kind::kNone;
  uintptr_t address = 0;
  uint64_t value = 0;
  unsigned flags = 0;
  bool wide = false;  // 64 bits
};

// What is known to CUDA, aligned and may be accessed.
bool Accessible(Driver& driver, const MemoryOperation& operation) {
  const size_t size = operation.wide ? 8 : 4;
  const auto access = operation.kind == MemoryOperation::Kind::kWrite
                          ? MemoryMap::Access::kWrite
                          : MemoryMap::Access::kRead;
  const Location location =
      driver.memory.Locate(operation.address, size, access);
  return operation.address % size == 0 &&
         (location == Location::kDevice || location == Location::kPinned);
}

template <typename T>
std::atomic_ref<T> At(uintptr_t address) {
  return std::atomic_ref<T>(*reinterpret_cast<T*>(address));
}

template <typename T>
bool Holds(const MemoryOperation& operation) {
  const T now = At<T>(operation.address).load(std::memory_order_acquire);
  const T value = static_cast<T>(operation.value);
  switch (operation.flags & ~CU_STREAM_WAIT_VALUE_FLUSH) {
    case CU_STREAM_WAIT_VALUE_GEQ:
      return static_cast<std::make_signed_t<T>>(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
      return now == value;
    case CU_STREAM_WAIT_VALUE_AND:
      return (now & value) != 0;
    default:
      return static_cast<T>(~(now | value)) != 0;
  }
}

// Polls: anybody may write the value, another process included. Gives up when
// a kernel has faulted or the memory is freed.
void Wait(Driver& driver, const MemoryOperation& operation) {
  std::chrono::microseconds pause{1};
  while (LastFault() == CUDA_SUCCESS && Accessible(driver, operation) &&
         !(operation.wide ? Holds<uint64_t>(operation)
                          : Holds<uint32_t>(operation))) {
    std::this_thread::sleep_for(pause);
    if (pause < std::chrono::milliseconds(1)) pause *= 2;
  }
}

void Run(Driver& driver, const MemoryOperation& operation) {
  if (operation.kind == MemoryOperation::Kind::kWait) {
    Wait(driver, operation);
  } else if (operation.kind == MemoryOperation::Kind::kWrite) {
    if (!Accessible(driver, operation)) return;  // freed meanwhile
    if (operation.wide) {
      At<uint64_t>(operation.address).store(operation.value);
    } else {
      At<uint32_t>(operation.address)
          .store(static_cast<uint32_t>(operation.value));
    }
  }
}

CUresult Enqueue(CUstream handle, std::vector<MemoryOperation> operations) {
  return WithStream(handle, [&](Driver& driver, Stream& stream) {
    bool waits = false;
    for (const MemoryOperation& operation : operations) {
      const bool wait = operation.kind == MemoryOperation::Kind::kWait;
      const unsigned known =
          wait ? CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH
               : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
      if (operation.kind == MemoryOperation::Kind::kNone) continue;
      if ((operation.flags & ~known) != 0 || !Accessible(driver, operation)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      waits |= wait;
    }
    const auto run = [&driver, operations = std::move(operations)] {
      for (const MemoryOperation& operation : operations) {
        Run(driver, operation);
      }
    };
    stream.Enqueue({.run = run},
                   waits ? Stream::Runner::kWorker : Stream::Runner::kCaller);
    return CUDA_SUCCESS;
  });
}

CUresult Parse(const CUstreamBatchMemOpParams& parameters,
               MemoryOperation* operation) {
  using Kind = MemoryOperation::Kind;
  const auto& wait = parameters.waitValue;
  const auto& write = parameters.writeValue;
  switch (parameters.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      *operation = {Kind::kWait, wait.address, wait.value, wait.flags, false};
      return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      *operation = {Kind::kWait, wait.address, wait.value64, wait.flags, true};
      return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      *operation = {Kind::kWrite, write.address, write.value, write.flags,
                    false};
      return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      *operation = {Kind::kWrite, write.address, write.value64, write.flags,
                    true};
      return CUDA_SUCCESS;
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
      return CUDA_SUCCESS;  // memory is one, and coherent
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

extern "C" {

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address,
                                cuuint32_t value, unsigned flags) {
  return Enqueue(stream, {{MemoryOperation::Kind::kWait, address, value, flags,
                           /*wide=*/false}});
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address,
                                cuuint64_t value, unsigned flags) {
  return Enqueue(stream, {{MemoryOperation::Kind::kWait, address, value, flags,
                           /*wide=*/true}});
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address,
                                 cuuint32_t value, unsigned flags) {
  return Enqueue(stream, {{MemoryOperation::Kind::kWrite, address, value, flags,
                           /*wide=*/false}});
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address,
                                 cuuint64_t value, unsigned flags) {
  return Enqueue(stream, {{MemoryOperation::Kind::kWrite, address, value, flags,
                           /*wide=*/true}});
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned count,
                               CUstreamBatchMemOpParams* parameters,
                               unsigned flags) {
  constexpr unsigned kMostOperations = 256;
  if (parameters == nullptr || flags != 0 || count > kMostOperations) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<MemoryOperation> operations(count);
  for (unsigned i = 0; i < count; ++i) {
    const CUresult result = Parse(parameters[i], &operations[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  return Enqueue(stream, std::move(operations));
}

}  // extern "C"
