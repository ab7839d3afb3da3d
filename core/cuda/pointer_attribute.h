// SPDX-License-Identifier: Apache-2.0
//
// The values of cuPointerGetAttribute, which have the type that CUDA gives the
// attribute.
#ifndef HOLDFAST_CORE_CUDA_POINTER_ATTRIBUTE_H_
#define HOLDFAST_CORE_CUDA_POINTER_ATTRIBUTE_H_

#include <cstring>

#include "cuda.h"

namespace holdfast::cuda {

// Returns CUDA_SUCCESS. `data` need not be aligned.
template <typename Value>
CUresult StoreAttribute(void* data, Value value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

// Stores the value that cuPointerGetAttributes has for an attribute that the
// memory lacks. `host` is the pointer if the driver does not know its memory,
// which is the program's own then; else 0.
void StoreAttributeOfUnknown(CUpointer_attribute attribute, CUdeviceptr host,
                             void* data);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_POINTER_ATTRIBUTE_H_
