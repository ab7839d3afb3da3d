// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills in stream order, checked before they are enqueued.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_H_

#include <cstddef>
#include <cstdint>

#include "core/software/driver/driver.h"
#include "core/software/driver/memory_map.h"
#include "core/software/driver/stream.h"
#include "cuda.h"

namespace holdfast::software {

// The kind of memory that a call says one of its pointers has.
enum class Side {
  kHost,
  kDevice,  // must be known to CUDA
  kAny,     // as the address says
};

// One end of a copy: rows of `pitch` bytes, planes of `pitch * rows` bytes. For
// one plane, rows do not matter; for one row, neither does the pitch.
struct CopyEnd {
  uintptr_t address = 0;
  Side side = Side::kAny;
  size_t pitch = 0;
  size_t rows = 0;  // from one plane to the next
};

// `depth` planes of `height` rows of `width` bytes.
struct Copy {
  CopyEnd destination;
  CopyEnd source;
  size_t width = 0;
  size_t height = 1;
  size_t depth = 1;
};

// The bytes that a copy moves; SIZE_MAX if they are too many to count. 0:
// nothing is to be done.
size_t BytesOf(const Copy& copy);

// Where both ends of a copy lie. By the first and last byte that is touched.
struct CopyLocations {
  Location destination = Location::kInvalid;
  Location source = Location::kInvalid;

  bool valid() const {
    return destination != Location::kInvalid && source != Location::kInvalid;
  }
};
// An end that has to be device memory and is not known to CUDA is kInvalid.
CopyLocations Locate(const MemoryMap& memory, const Copy& copy);

// Copies at once. REQUIRES: Locate() finds both ends valid. Overlapping rows
// are moved as by memmove, one by one.
void Run(const Copy& copy);

// CUDA_ERROR_INVALID_VALUE unless every byte may be accessed. With `wait` it
// returns after the copy. Without, it still does so for pageable memory, as
// CUDA does, unless the source is small enough to be set aside. Up to 64 KiB
// are short enough for the calling thread to do, and to be set aside.
CUresult EnqueueCopy(Driver& driver, Stream& stream, const Copy& copy,
                     bool wait);

// `height` rows of `width` elements of 1, 2 or 4 bytes set to `value`.
struct Fill {
  uintptr_t address = 0;
  size_t pitch = 0;  // bytes from row to row; ignored if height is 1
  uint32_t value = 0;
  size_t element = 1;  // bytes
  size_t width = 0;    // elements
  size_t height = 1;
};

// Returns CUDA_ERROR_INVALID_VALUE unless pitch and element fit each other and
// every byte may be written. A fill of nothing is valid. Pageable memory is
// refused.
CUresult CheckFill(const MemoryMap& memory, const Fill& fill);

// Fills at once. REQUIRES: CheckFill() succeeds.
void Run(const Fill& fill);

// CUDA_ERROR_INVALID_VALUE as CheckFill. Short ones are done by the calling
// thread if the stream is idle.
CUresult EnqueueFill(Driver& driver, Stream& stream, const Fill& fill);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_H_
