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

// The kind of memory that a call declares for one of its pointers.
enum class Side {
  kHost,
  kDevice,  // must be known to CUDA
  kAny,     // determined by the address
};

// One end of a copy: rows of `pitch` bytes, planes of `pitch * rows` bytes. A
// copy of one plane ignores `rows`; a copy of one row also ignores `pitch`.
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

// Returns the bytes that a copy moves; SIZE_MAX if their number overflows. A
// copy of 0 bytes does nothing.
size_t BytesOf(const Copy& copy);

// The locations of both ends of a copy, from the first to the last byte
// accessed.
struct CopyLocations {
  Location destination = Location::kInvalid;
  Location source = Location::kInvalid;

  bool valid() const {
    return destination != Location::kInvalid && source != Location::kInvalid;
  }
};
// Returns the locations. An end with kDevice that is not known to CUDA is
// kInvalid.
CopyLocations Locate(const MemoryMap& memory, const Copy& copy);

// Copies at once. REQUIRES: Locate() finds both ends valid. Overlapping rows
// are moved as by memmove, one by one.
void Run(const Copy& copy);

// Enqueues a copy. Returns CUDA_ERROR_INVALID_VALUE unless every byte may be
// accessed. Blocks until the copy is done if `wait`, and, as CUDA does, if an
// end is pageable memory. A pageable source of up to 64 KiB is staged instead,
// unless the destination is pageable, too. If the stream is idle, the calling
// thread does copies of up to 64 KiB itself.
CUresult EnqueueCopy(Driver& driver, Stream& stream, const Copy& copy,
                     bool wait);

// Sets `height` rows of `width` elements of 1, 2 or 4 bytes to `value`.
struct Fill {
  uintptr_t address = 0;
  size_t pitch = 0;  // bytes from row to row; ignored if height is 1
  uint32_t value = 0;
  size_t element = 1;  // bytes
  size_t width = 0;    // elements
  size_t height = 1;
};

// Returns CUDA_ERROR_INVALID_VALUE unless address and pitch are multiples of
// the element, rows do not overlap, and every byte may be written. An empty
// fill is valid. Pageable memory is invalid.
CUresult CheckFill(const MemoryMap& memory, const Fill& fill);

// Fills at once. REQUIRES: CheckFill() succeeds.
void Run(const Fill& fill);

// Enqueues a fill. Fails as CheckFill. If the stream is idle, the calling
// thread does fills of up to 64 KiB itself.
CUresult EnqueueFill(Driver& driver, Stream& stream, const Fill& fill);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_H_
