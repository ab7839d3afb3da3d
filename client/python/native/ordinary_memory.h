// SPDX-License-Identifier: Apache-2.0
//
// Memory of this process in place of pinned memory, where the executor is on
// another machine: no kernel reaches it.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_ORDINARY_MEMORY_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_ORDINARY_MEMORY_H_

#include <cstdint>

#include "client/python/native/native.h"

namespace holdfast::python {

// OrdinaryMemory(size): zeros, as a writable buffer.
bool AddOrdinaryMemory(PyObject* module);

// Is the address one in such memory? Needs the GIL.
bool IsInOrdinaryMemory(uint64_t address);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_ORDINARY_MEMORY_H_
