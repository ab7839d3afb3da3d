// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_SHARING_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_SHARING_H_

#include "client/python/native/native.h"

namespace holdfast::python {

// Methods of Buffer: _allocate_shared(session, device, size),
// _import(session, device, token), _import_local(session, device, pointer,
// size, driver, local_device), and _export(writable, offset, size, session,
// lifetime, imports), which returns the token.
PyObject* AllocateShared(PyObject* self, PyObject* arguments);
PyObject* AllocateIpc(PyObject* self, PyObject* arguments);
// (64 bytes, offset in what they open)
PyObject* BufferIpcHandle(PyObject* self, PyObject* arguments);
// (session, device, descriptor, 64 bytes, size)
PyObject* ImportPool(PyObject* self, PyObject* arguments);
PyObject* ImportBuffer(PyObject* self, PyObject* arguments);
PyObject* ImportLocalBuffer(PyObject* self, PyObject* arguments);
PyObject* ExportBuffer(PyObject* self, PyObject* arguments);
// Method of Session: _revoke(token).
PyObject* RevokeExport(PyObject* self, PyObject* bytes);

// Adds Semaphore, Mapping and map_locally; false, with an exception.
bool AddSharing(PyObject* module);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_SHARING_H_
