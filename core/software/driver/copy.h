// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills in stream order. They are checked before they are enqueued.
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
  kDevice,  // memory that CUDA calls have allocated or registered
  kAny,     // host or device memory, depending on the address
};

// One end of a copy. Its rows are `pitch` bytes apart, and its planes `pitch *
// rows` bytes. A copy of one plane ignores `rows`; a copy of one row also
// ignores `pitch`.
struct CopyEnd {
  uintptr_t address = 0;
  Side side = Side::kAny;
  size_t pitch = 0;
  size_t rows = 0;  // the number of rows from one plane to the next
};

// A copy of `depth` planes of `height` rows of `width` bytes.
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

// The locations (memory_map.h) of both ends of a copy, each from the first to
// the last accessed byte.
struct CopyLocations {
  Location destination = Location::kInvalid;
  Location source = Location::kInvalid;

  bool valid() const {
    return destination != Location::kInvalid && source != Location::kInvalid;
  }
};
// Returns the locations of both ends. The location of an end is kInvalid if the
// copy may not access it, or if its side is kDevice and no CUDA call has made
// the memory.
CopyLocations Locate(const MemoryMap& memory, const Copy& copy);

// Makes the copy on the calling thread. Copies row by row, as memmove does.
// REQUIRES: Locate() finds both ends valid.
void Run(const Copy& copy);

// Enqueues a copy. Blocks until the copy is done if `wait` is true or, as CUDA
// does, if an end is pageable memory. For a pageable source of up to 64 KiB and
// a destination that is not pageable, copies the source to a buffer instead of
// blocking. If the stream is idle, the calling thread makes copies of up to 64
// KiB itself. CUDA_ERROR_INVALID_VALUE: a byte of an end must not be accessed.
// Also fails as Stream::Add does. After a wait, returns the error of a kernel's
// fault.
CUresult EnqueueCopy(Driver& driver, Stream& stream, const Copy& copy,
                     bool wait);

// A fill of `height` rows of `width` elements of 1, 2 or 4 bytes with `value`.
struct Fill {
  uintptr_t address = 0;
  size_t pitch = 0;  // bytes from row to row; ignored if height is 1
  uint32_t value = 0;
  size_t element = 1;  // bytes
  size_t width = 0;    // elements
  size_t height = 1;
};

// Checks a fill. CUDA_ERROR_INVALID_VALUE: address or pitch is not a multiple
// of the element's size, rows overlap, a byte must not be written, or the
// memory is pageable. An empty fill is valid.
CUresult CheckFill(const MemoryMap& memory, const Fill& fill);

// Makes the fill on the calling thread. REQUIRES: CheckFill() succeeds.
void Run(const Fill& fill);

// Enqueues a fill. If the stream is idle, the calling thread makes fills of up
// to 64 KiB itself. Fails as CheckFill and Stream::Add do.
CUresult EnqueueFill(Driver& driver, Stream& stream, const Fill& fill);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_H_
