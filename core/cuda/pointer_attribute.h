// SPDX-License-Identifier: Apache-2.0
//
// Stores the values of cuPointerGetAttribute. The type of a value depends on
// the attribute.
#ifndef HOLDFAST_CORE_CUDA_POINTER_ATTRIBUTE_H_
#define HOLDFAST_CORE_CUDA_POINTER_ATTRIBUTE_H_

#include <cstring>

#include "cuda.h"

namespace holdfast::cuda {

// Copies `value` to `data`, which need not be aligned. Returns CUDA_SUCCESS.
template <typename Value>
CUresult StoreAttribute(void* data, Value value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

// Stores the value that cuPointerGetAttributes returns for an attribute that
// the memory does not have. `host` is the pointer itself if the driver does not
// know the memory, which is then the program's own memory; otherwise 0.
void StoreAttributeOfUnknown(CUpointer_attribute attribute, CUdeviceptr host,
                             void* data);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_POINTER_ATTRIBUTE_H_
