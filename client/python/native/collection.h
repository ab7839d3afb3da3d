// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_COLLECTION_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_COLLECTION_H_

#include "client/python/native/native.h"

namespace holdfast::python {

// Methods of Daemon.
PyObject* DescribeCollection(PyObject* self, PyObject* arguments);
PyObject* DeleteCollection(PyObject* self, PyObject* arguments);
PyObject* ConfigureCollection(PyObject* self, PyObject* request);

// Adds the types of collections and the functions that make them; false, with
// an exception.
bool AddCollections(PyObject* module);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_COLLECTION_H_
