// SPDX-License-Identifier: Apache-2.0
//
// The structs of DLPack. Their layout is the ABI of DLPack.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_DLPACK_STRUCTS_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_DLPACK_STRUCTS_H_

#include <cstdint>

namespace holdfast::python {

struct DlpackDevice {
  int32_t type;
  int32_t id;
};
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DlpackDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* manager;
  void (*deleter)(DLManagedTensor* self);
};
struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};
// DLPack 1.0 and later use this struct. Its flags describe the memory, such as
// kReadOnly.
struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor tensor;
};

inline constexpr DLPackVersion kVersion = {1, 0};
inline constexpr uint64_t kReadOnly = 1;

// The names of a capsule: kName before a consumer takes the tensor out of it,
// and kUsedName afterwards.
template <typename Managed>
inline constexpr const char* kName = nullptr;
template <>
inline constexpr const char* kName<DLManagedTensor> = "dltensor";
template <>
inline constexpr const char* kName<DLManagedTensorVersioned> =
    "dltensor_versioned";
template <typename Managed>
inline constexpr const char* kUsedName = nullptr;
template <>
inline constexpr const char* kUsedName<DLManagedTensor> = "used_dltensor";
template <>
inline constexpr const char* kUsedName<DLManagedTensorVersioned> =
    "used_dltensor_versioned";

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_DLPACK_STRUCTS_H_
