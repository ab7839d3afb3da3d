// SPDX-License-Identifier: Apache-2.0
//
// DLPack, the protocol by which array libraries share memory without a copy.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_DLPACK_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_DLPACK_H_

#include "client/python/native/native.h"

namespace holdfast::python {

// Adds make_dlpack, take_dlpack and address_of to the module. Returns false
// with an exception if that fails.
bool AddDlpack(PyObject* module);

// Adds dlpack_exchange_api, DLPack's interface for callers in C; used by
// AddDlpack.
bool AddDlpackExchange(PyObject* module);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_DLPACK_H_
