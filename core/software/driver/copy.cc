// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/copy.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/software/driver/fault.h"

namespace holdfast::software {
namespace {

// Up to here the calling thread does the work itself if the stream is idle: a
// change of threads would take longer.
constexpr size_t kShort = 64 << 10;

char* Pointer(uintptr_t address) { return reinterpret_cast<char*>(address); }

// a * b + c, saturated, so that hostile sizes fail their checks.
size_t MultiplyAdd(size_t a, size_t b, size_t c) {
  size_t result;
  if (__builtin_mul_overflow(a, b, &result) ||
      __builtin_add_overflow(result, c, &result)) {
    return SIZE_MAX;
  }
  return result;
}

// From the first byte that is touched to the last.
size_t Extent(const CopyEnd& end, const Copy& copy) {
  const size_t rows = MultiplyAdd(copy.depth - 1, end.rows, copy.height - 1);
  return MultiplyAdd(rows, end.pitch, copy.width);
}

bool Dense(const CopyEnd& end, const Copy& copy) {
  return (copy.height == 1 || end.pitch == copy.width) &&
         (copy.depth == 1 || end.rows == copy.height);
}

Location LocateEnd(const MemoryMap& memory, const CopyEnd& end,
                   const Copy& copy, MemoryMap::Access access) {
  const Location location =
      memory.Locate(end.address, Extent(end, copy), access);
  const bool unknown = location == Location::kPageable;
  return end.side == Side::kDevice && unknown ? Location::kInvalid : location;
}

CUresult WaitFor(const Ticket& ticket) {
  ticket.Wait(/*help=*/true);
  return LastFault();
}

// Sets a small pageable source aside, so that the caller may reuse it at once.
CUresult EnqueueFromStaging(Stream& stream, Copy copy, size_t bytes) {
  std::string staging(bytes, '\0');
  Copy gather = copy;
  gather.destination = {reinterpret_cast<uintptr_t>(staging.data()),
                        Side::kHost, copy.width, copy.height};
  Run(gather);
  const auto scatter = [copy, staging = std::move(staging)]() mutable {
    copy.source = {reinterpret_cast<uintptr_t>(staging.data()), Side::kHost,
                   copy.width, copy.height};
    Run(copy);
  };
  return stream.Add({.run = scatter}, Stream::Runner::kCaller);
}

template <typename T>
void FillRows(const Fill& fill) {
  for (size_t y = 0; y < fill.height; ++y) {
    std::fill_n(reinterpret_cast<T*>(fill.address + y * fill.pitch), fill.width,
                static_cast<T>(fill.value));
  }
}

// The bytes of one row, and of all rows from first byte to last.
size_t RowBytes(const Fill& fill) {
  return MultiplyAdd(fill.width, fill.element, 0);
}
size_t Extent(const Fill& fill) {
  const size_t row = RowBytes(fill);
  return fill.height > 1 ? MultiplyAdd(fill.height - 1, fill.pitch, row) : row;
}

bool Empty(const Fill& fill) { return RowBytes(fill) == 0 || fill.height == 0; }

}  // namespace

size_t BytesOf(const Copy& copy) {
  return MultiplyAdd(MultiplyAdd(copy.width, copy.height, 0), copy.depth, 0);
}

CopyLocations Locate(const MemoryMap& memory, const Copy& copy) {
  return {LocateEnd(memory, copy.destination, copy, MemoryMap::Access::kWrite),
          LocateEnd(memory, copy.source, copy, MemoryMap::Access::kRead)};
}

void Run(const Copy& copy) {
  const CopyEnd& to = copy.destination;
  const CopyEnd& from = copy.source;
  if (Dense(to, copy) && Dense(from, copy)) {
    memmove(Pointer(to.address), Pointer(from.address),
            copy.width * copy.height * copy.depth);
    return;
  }
  for (size_t z = 0; z < copy.depth; ++z) {
    for (size_t y = 0; y < copy.height; ++y) {
      memmove(Pointer(to.address) + (z * to.rows + y) * to.pitch,
              Pointer(from.address) + (z * from.rows + y) * from.pitch,
              copy.width);
    }
  }
}

CUresult EnqueueCopy(Driver& driver, Stream& stream, const Copy& copy,
                     bool wait) {
  const size_t bytes = BytesOf(copy);
  if (bytes == 0) return CUDA_SUCCESS;
  const CopyLocations locations = Locate(driver.memory, copy);
  if (!locations.valid()) return CUDA_ERROR_INVALID_VALUE;
  const Location to = locations.destination;
  const Location from = locations.source;
  if (from == Location::kPageable && to != Location::kPageable && !wait) {
    if (bytes <= kShort) return EnqueueFromStaging(stream, copy, bytes);
    wait = true;
  }
  if (wait || to == Location::kPageable) {
    return WaitFor(*stream.Enqueue({.run = [copy] { Run(copy); }},
                                   Stream::Runner::kWaiter));
  }
  return stream.Add(
      {.run = [copy] { Run(copy); }},
      bytes <= kShort ? Stream::Runner::kCaller : Stream::Runner::kWorker);
}

CUresult CheckFill(const MemoryMap& memory, const Fill& fill) {
  if (Empty(fill)) return CUDA_SUCCESS;
  if (fill.address % fill.element != 0) return CUDA_ERROR_INVALID_VALUE;
  if (fill.height > 1 &&
      (fill.pitch < RowBytes(fill) || fill.pitch % fill.element != 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Location location =
      memory.Locate(fill.address, Extent(fill), MemoryMap::Access::kWrite);
  return location == Location::kInvalid || location == Location::kPageable
             ? CUDA_ERROR_INVALID_VALUE
             : CUDA_SUCCESS;
}

void Run(const Fill& fill) {
  switch (fill.element) {
    case 1:
      return FillRows<uint8_t>(fill);
    case 2:
      return FillRows<uint16_t>(fill);
    default:
      return FillRows<uint32_t>(fill);
  }
}

CUresult EnqueueFill(Driver& driver, Stream& stream, const Fill& fill) {
  if (Empty(fill)) return CUDA_SUCCESS;
  const CUresult result = CheckFill(driver.memory, fill);
  if (result != CUDA_SUCCESS) return result;
  return stream.Add({.run = [fill] { Run(fill); }},
                    Extent(fill) <= kShort ? Stream::Runner::kCaller
                                           : Stream::Runner::kWorker);
}

}  // namespace holdfast::software
