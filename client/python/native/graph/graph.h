// SPDX-License-Identifier: Apache-2.0
//
// Nodes, definitions, captures and graphs as Python objects.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_GRAPH_GRAPH_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_GRAPH_GRAPH_H_

#include "client/python/native/native.h"

namespace holdfast::python {

// Each function adds types and functions to the module. Returns false, with an
// exception set, if that fails.
bool AddNodes(PyObject* module);
bool AddDefinitions(PyObject* module);
bool AddCaptures(PyObject* module);
bool AddGraphs(PyObject* module);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_GRAPH_GRAPH_H_
