// SPDX-License-Identifier: Apache-2.0
//
// DLPack, by which array libraries take each other's memory without a copy.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_DLPACK_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_DLPACK_H_

#include <cstdint>

#include "client/python/native/native.h"

namespace holdfast::python {

// DLPack's DLDevice.
struct DlpackDevice {
  int32_t type;
  int32_t id;
};
inline constexpr DlpackDevice kDlpackCpu = {1, 0};
// The type of memory of a CUDA device.
inline constexpr int32_t kDlpackCuda = 2;

// A capsule "dltensor" with `size` bytes of the device at `data`, which live as
// long as `owner`: one dimension of uint8. Null with an exception.
PyObject* ToDlpack(PyObject* owner, void* data, uint64_t size,
                   DlpackDevice device = kDlpackCpu);

// Adds make_dlpack, take_dlpack and address_of to the module; false, with an
// exception.
bool AddDlpack(PyObject* module);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_DLPACK_H_
