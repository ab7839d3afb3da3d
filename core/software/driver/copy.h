// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills in stream order, checked before they are enqueued.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_H_

#include <cstddef>
#include <cstdint>

#include "core/software/driver/driver.h"
#include "core/software/driver/stream.h"
#include "cuda.h"

namespace holdfast::software {

// What a call says about one of its pointers.
enum class Side {
  kHost,
  kDevice,  // must be known to CUDA
  kAny,     // as the address says
};

// One end of a copy: rows of `pitch` bytes, planes of `pitch * rows` bytes.
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

// CUDA_ERROR_INVALID_VALUE unless every byte may be accessed. With `wait` it
// returns after the copy. Without, it still does so for pageable memory, as
// CUDA does, unless the source is small enough to be set aside.
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

CUresult EnqueueFill(Driver& driver, Stream& stream, const Fill& fill);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_COPY_H_
