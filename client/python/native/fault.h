// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_FAULT_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_FAULT_H_

#include "client/python/native/native.h"

namespace holdfast::python {

// Returns a new reference: the fault of `error` as a dict with the names of
// hf_fault, or None if the error reports no fault. Returns null, with an
// exception set, if there is no memory.
PyObject* FaultOf(const hf_error* error);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_FAULT_H_
