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

// Stores the value that cuPointerGetAttributes has for a pointer that the
// driver does not know.
void StoreAttributeOfUnknown(CUpointer_attribute attribute, void* data);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_POINTER_ATTRIBUTE_H_
