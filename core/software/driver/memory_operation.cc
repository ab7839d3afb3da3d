// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/memory_operation.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <type_traits>

#include "core/software/driver/fault.h"

namespace holdfast::software {
namespace {

constexpr unsigned kMostOperations = 256;

// Is the operand's memory known to CUDA, aligned and accessible?
bool Accessible(const MemoryMap& memory, const MemoryOperation& operation) {
  const size_t size = operation.wide ? 8 : 4;
  const auto access = operation.kind == MemoryOperation::Kind::kWrite
                          ? MemoryMap::Access::kWrite
                          : MemoryMap::Access::kRead;
  const Location location = memory.Locate(operation.address, size, access);
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

// The threads of this process that wait for values. They share a number of
// looks a second: each thread alone would look every millisecond, and a
// thousand of them, one for each stream that waits, would take all processors.
std::atomic<int> g_waiting{0};

std::chrono::microseconds LongestPause() {
  constexpr std::chrono::microseconds kOfOne{1000};
  constexpr std::chrono::microseconds kOfEach{125};
  return std::max(kOfOne, g_waiting.load() * kOfEach);
}

// Polls: anybody may write the value, another process included.
void Wait(const MemoryMap& memory, const MemoryOperation& operation) {
  std::chrono::microseconds pause{1};
  ++g_waiting;
  while (!Satisfied(memory, operation)) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, LongestPause());
  }
  --g_waiting;
}

void Write(const MemoryMap& memory, const MemoryOperation& operation) {
  if (!Accessible(memory, operation)) return;  // freed meanwhile
  if (operation.wide) {
    At<uint64_t>(operation.address).store(operation.value);
  } else {
    At<uint32_t>(operation.address)
        .store(static_cast<uint32_t>(operation.value));
  }
}

}  // namespace

CUresult ParseOperations(const CUstreamBatchMemOpParams* parameters,
                         unsigned count,
                         std::vector<MemoryOperation>* operations) {
  if (parameters == nullptr || count > kMostOperations) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  operations->resize(count);
  for (unsigned i = 0; i < count; ++i) {
    const CUresult result = Parse(parameters[i], &(*operations)[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult CheckOperations(const MemoryMap& memory,
                         const std::vector<MemoryOperation>& operations) {
  for (const MemoryOperation& operation : operations) {
    if (operation.kind == MemoryOperation::Kind::kNone) continue;
    const unsigned known =
        operation.kind == MemoryOperation::Kind::kWait
            ? CU_STREAM_WAIT_VALUE_NOR | CU_STREAM_WAIT_VALUE_FLUSH
            : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    if ((operation.flags & ~known) != 0 || !Accessible(memory, operation)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

bool Satisfied(const MemoryMap& memory, const MemoryOperation& operation) {
  return LastFault() != CUDA_SUCCESS || !Accessible(memory, operation) ||
         (operation.wide ? Holds<uint64_t>(operation)
                         : Holds<uint32_t>(operation));
}

void Run(const MemoryMap& memory, const MemoryOperation& operation) {
  switch (operation.kind) {
    case MemoryOperation::Kind::kWait:
      return Wait(memory, operation);
    case MemoryOperation::Kind::kWrite:
      return Write(memory, operation);
    case MemoryOperation::Kind::kNone:
      return;
  }
}

}  // namespace holdfast::software
