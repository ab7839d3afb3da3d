// SPDX-License-Identifier: Apache-2.0
//
// Nodes, definitions, captures and graphs as Python objects.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_GRAPH_GRAPH_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_GRAPH_GRAPH_H_

#include <cstdint>
#include <vector>

#include "client/python/native/native.h"

namespace holdfast::python {

using UseNode = Use<hf_node, hf_node_free>;
using UseDefinition = Use<hf_definition, hf_definition_free>;
using UseCapture = Use<hf_capture, hf_capture_free>;
using UseGraph = Use<hf_graph, hf_graph_free>;
using UseGraphExec = Use<hf_graph_exec, hf_graph_exec_free>;

extern PyTypeObject* node_type;
extern PyTypeObject* definition_type;
extern PyTypeObject* capture_type;
extern PyTypeObject* graph_type;
extern PyTypeObject* graph_exec_type;

// Each adds its types and functions to the module; false, with an exception.
bool AddNodes(PyObject* module);
bool AddDefinitions(PyObject* module);
bool AddCaptures(PyObject* module);
bool AddGraphs(PyObject* module);

// A sequence of int as ids; false, with an exception.
bool ToIds(PyObject* sequence, std::vector<uint32_t>* ids);

// A condition's default: None or an int. False, with an exception. *given is
// null for None.
bool ToDefault(PyObject* object, uint32_t* value, const uint32_t** given);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_GRAPH_GRAPH_H_
