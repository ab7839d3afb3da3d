// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/memory_arguments.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace holdfast::cuda {

CUresult ReadPitch(size_t width, size_t height, unsigned element,
                   size_t* pitch) {
  constexpr size_t kPitch = 512;
  if (width == 0 || height == 0 ||
      (element != 4 && element != 8 && element != 16)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (width > SIZE_MAX - kPitch) return CUDA_ERROR_OUT_OF_MEMORY;
  const size_t row = (width + kPitch - 1) / kPitch * kPitch;
  if (row > SIZE_MAX / height) return CUDA_ERROR_OUT_OF_MEMORY;
  *pitch = row;
  return CUDA_SUCCESS;
}

bool IsMapped(const void* pointer, size_t size) {
  constexpr uint64_t kPageSize = 4096;
  constexpr uint64_t kPages = 4096;  // that are looked at together
  const auto begin = reinterpret_cast<uint64_t>(pointer);
  uint64_t end = 0;
  if (__builtin_add_overflow(begin, size, &end)) return false;
  unsigned char resident[kPages];
  for (uint64_t page = begin / kPageSize * kPageSize; page < end;
       page += kPages * kPageSize) {
    const uint64_t length = std::min(end - page, kPages * kPageSize);
    if (mincore(reinterpret_cast<void*>(page), length, resident) != 0) {
      return errno != ENOMEM;  // a sandbox that denies the question
    }
  }
  return true;
}

}  // namespace holdfast::cuda
