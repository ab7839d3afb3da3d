// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/pointer_attribute.h"

namespace holdfast::cuda {

void StoreAttributeOfUnknown(CUpointer_attribute attribute, CUdeviceptr host,
                             void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      StoreAttribute<int>(data, CU_DEVICE_INVALID);
      return;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      StoreAttribute(data, 0U);
      return;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      StoreAttribute(data, host);
      return;
    default:
      StoreAttribute<unsigned long long>(data, 0);
  }
}

}  // namespace holdfast::cuda
