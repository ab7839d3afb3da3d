// SPDX-License-Identifier: Apache-2.0
//
// Bulk copies and reductions (cp.async.bulk, cp.reduce.async.bulk), one lane
// after the other. A kernel may name any range: both are tested against the
// window, and what is not mapped there is the fault of the lane.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "core/software/abi/abi.h"
#include "core/software/abi/buffer_table.h"
#include "core/software/abi/window.h"
#include "core/software/lower/kernel.h"
#include "core/software/ptx/types.h"
#include "core/software/runtime/kernel_fault.h"
#include "core/software/semantics/conversion.h"

namespace holdfast::software {
namespace {

using ptx::Type;

struct Transfer {
  uint64_t to;
  uint64_t from;
  uint64_t bytes;
};

template <typename T>
T CombineIntegers(BulkOperation operation, T old, T value) {
  switch (operation) {
    case BulkOperation::kAdd:
      // Unsigned, where overflow is defined.
      return static_cast<T>(static_cast<uint64_t>(old) +
                            static_cast<uint64_t>(value));
    case BulkOperation::kMin:
      return std::min(old, value);
    case BulkOperation::kMax:
      return std::max(old, value);
    case BulkOperation::kInc:
      return old >= value ? 0 : old + 1;
    case BulkOperation::kDec:
      return old == 0 || old > value ? value : old - 1;
    case BulkOperation::kAnd:
      return old & value;
    case BulkOperation::kOr:
      return old | value;
    case BulkOperation::kXor:
      return old ^ value;
    case BulkOperation::kMove:
      break;
  }
  return value;
}

float FloatOf(Type half, uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(
      Convert({.to = Type::kF32, .from = half}, bits, 0, 0)));
}

uint16_t HalfOf(Type half, float value) {
  return static_cast<uint16_t>(Convert({.to = half, .from = Type::kF32},
                                       std::bit_cast<uint32_t>(value), 0, 0));
}

// A float has so many more bits that rounding twice does not show. The lesser
// of two zeros is the negative one; of a number and a NaN, the number stays.
uint16_t CombineHalves(BulkOperation operation, Type half, uint16_t old,
                       uint16_t value) {
  const float x = FloatOf(half, old), y = FloatOf(half, value);
  if (operation == BulkOperation::kAdd) return HalfOf(half, x + y);
  if (std::isnan(x)) return HalfOf(half, y);
  if (std::isnan(y)) return old;
  const bool min = operation == BulkOperation::kMin;
  if (x == y) return min ? old | value : old & value;
  return (x < y) == min ? old : value;
}

// Combines element by element, each as one atomic operation.
template <typename T, typename Combine>
void ForElements(const Transfer& transfer, Combine combine) {
  for (uint64_t at = 0; at < transfer.bytes; at += sizeof(T)) {
    T value;
    std::memcpy(&value, reinterpret_cast<const void*>(transfer.from + at),
                sizeof value);
    std::atomic_ref<T> place(*reinterpret_cast<T*>(transfer.to + at));
    T old = place.load(std::memory_order_relaxed);
    while (!place.compare_exchange_weak(old, combine(old, value))) {
    }
  }
}

template <typename T>
void Integers(BulkOperation operation, const Transfer& transfer) {
  ForElements<T>(transfer, [operation](T old, T value) {
    return CombineIntegers(operation, old, value);
  });
}

// Gives the NaN of GPUs, as arithmetic on f32 does there.
float AddFloats(float old, float value) {
  const float sum = old + value;
  return std::isnan(sum) ? std::bit_cast<float>(0x7FFFFFFF) : sum;
}

double AddDoubles(double old, double value) { return old + value; }

void Combine(BulkOperation operation, Type type, const Transfer& transfer) {
  switch (type) {
    case Type::kS32:
      return Integers<int32_t>(operation, transfer);
    case Type::kU32:
    case Type::kB32:
      return Integers<uint32_t>(operation, transfer);
    case Type::kS64:
      return Integers<int64_t>(operation, transfer);
    case Type::kU64:
    case Type::kB64:
      return Integers<uint64_t>(operation, transfer);
    case Type::kF32:
      return ForElements<float>(transfer, AddFloats);
    case Type::kF64:
      return ForElements<double>(transfer, AddDoubles);
    default:
      return ForElements<uint16_t>(transfer, [=](uint16_t old, uint16_t value) {
        return CombineHalves(operation, type, old, value);
      });
  }
}

void Execute(BulkOperation operation, Type type, const Transfer& transfer) {
  if (operation != BulkOperation::kMove) {
    return Combine(operation, type, transfer);
  }
  std::memmove(reinterpret_cast<void*>(transfer.to),
               reinterpret_cast<const void*>(transfer.from), transfer.bytes);
}

// The first byte that must not be accessed in memcheck mode. Memory that was
// mapped in pieces, side by side, is as good as one buffer.
std::optional<uint64_t> OutsideBuffers(uint64_t address, uint64_t bytes) {
  const BufferTable* const table = BufferTable::Get();
  if (table == nullptr) return std::nullopt;
  const uint64_t end = address + bytes;
  while (address < end) {
    const std::optional<BufferSpan> span = table->Find(address);
    if (!span.has_value()) return address;
    address = span->begin + span->size;
  }
  return std::nullopt;
}

// The fault of the transfer, if it has one before any byte is moved.
std::optional<KernelFault> FaultOf(const Transfer& transfer, uint32_t lane) {
  const uint32_t lanes = uint32_t{1} << lane;
  if (transfer.bytes % lower::kBulkBytes != 0) {
    return KernelFault{KernelFault::Kind::kUneven, transfer.bytes, lanes};
  }
  for (const uint64_t address : {transfer.from, transfer.to}) {
    if (!GetKernelWindow().Contains(address, transfer.bytes)) {
      return KernelFault{KernelFault::Kind::kAddress, address, lanes};
    }
    if (const auto outside = OutsideBuffers(address, transfer.bytes)) {
      return KernelFault{KernelFault::Kind::kBuffer, *outside, lanes};
    }
  }
  return std::nullopt;
}

}  // namespace

extern "C" void holdfast_bulk_copy(WorkerContext* worker, uint32_t lanes,
                                   BulkOperation operation, uint32_t type,
                                   const uint64_t* to, const uint64_t* from,
                                   const uint64_t* bytes, uint64_t*) {
  for (; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    const Transfer transfer{to[lane], from[lane], bytes[lane]};
    std::optional<KernelFault> fault = FaultOf(transfer, lane);
    if (!fault) {
      const auto address = TryAccess(
          [&] { Execute(operation, static_cast<Type>(type), transfer); });
      if (!address) continue;
      fault = {KernelFault::Kind::kAddress, *address, uint32_t{1} << lane};
    }
    LeaveKernel(*worker, *fault);
  }
}

}  // namespace holdfast::software
