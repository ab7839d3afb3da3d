// SPDX-License-Identifier: Apache-2.0
//
// Ordinary memory of this process that stands in for pinned memory if the
// executor is on another machine. Kernels cannot reach it.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_ORDINARY_MEMORY_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_ORDINARY_MEMORY_H_

#include <cstdint>

#include "client/python/native/native.h"

namespace holdfast::python {

// Adds make_ordinary_memory(size) to the module, which returns an
// OrdinaryMemory: zeroed memory, as a writable buffer. Returns false, with an
// exception set, if that fails.
bool AddOrdinaryMemory(PyObject* module);

// Returns true if the address lies in such memory. Needs the GIL.
bool IsInOrdinaryMemory(uint64_t address);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_ORDINARY_MEMORY_H_
