// SPDX-License-Identifier: Apache-2.0
//
// Graphs of the daemon, and those that are ready to run.
#include "client/python/native/graph/graph.h"

#include <vector>

#include "client/python/native/native.h"
#include "client/python/native/number.h"

namespace holdfast::python {

PyTypeObject* graph_type = nullptr;
PyTypeObject* graph_exec_type = nullptr;

namespace {

// make_graph(session, definition)
PyObject* MakeGraph(PyObject*, PyObject* arguments) {
  PyObject* in = nullptr;
  PyObject* of = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO", &in, &of) ||
      !CheckType(in, session_type, "a Session") ||
      !CheckType(of, definition_type, "a definition")) {
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  const UseDefinition definition(of);
  if (!definition) return nullptr;
  hf_graph* graph = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_graph_create(session.get(), definition.get(), &graph);
  }
  if (error != nullptr) return Raise(error);
  return Wrap<hf_graph, hf_graph_free>(graph_type, graph);
}

// _create(graph, auto free on launch, use node priority)
PyObject* CreateExec(PyObject* self, PyObject* arguments) {
  PyObject* of = nullptr;
  int auto_free = 0;
  int node_priority = 0;
  if (!PyArg_ParseTuple(arguments, "Opp", &of, &auto_free, &node_priority) ||
      !CheckType(of, graph_type, "a graph")) {
    return nullptr;
  }
  const UseGraph graph(of);
  if (!graph) return nullptr;
  hf_graph_options options = HF_GRAPH_OPTIONS_INIT;
  options.auto_free_on_launch = auto_free != 0;
  options.use_node_priority = node_priority != 0;
  hf_graph_exec* exec = nullptr;
  hf_error* const error = hf_graph_instantiate(graph.get(), &options, &exec);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_graph_exec, hf_graph_exec_free>(self, exec);
}

template <hf_error* (*Do)(const hf_graph_exec*, const hf_stream*)>
PyObject* OnStream(PyObject* self, PyObject* on) {
  if (!CheckType(on, stream_type, "a Stream")) return nullptr;
  const UseGraphExec exec(self);
  if (!exec) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = Do(exec.get(), stream.get());
  }
  return NoneOrRaise(error);
}

PyObject* Update(PyObject* self, PyObject* from) {
  if (!CheckType(from, graph_type, "a graph")) return nullptr;
  const UseGraphExec exec(self);
  if (!exec) return nullptr;
  const UseGraph graph(from);
  if (!graph) return nullptr;
  return NoneOrRaise(hf_graph_exec_update(exec.get(), graph.get()));
}

// _set_node(within, id, node)
PyObject* SetNode(PyObject* self, PyObject* arguments) {
  PyObject* path = nullptr;
  PyObject* which = nullptr;
  Number<uint32_t> id("id");
  std::vector<uint32_t> within;
  if (!PyArg_ParseTuple(arguments, "OO&O", &path, ToNumber, &id, &which) ||
      !CheckType(which, node_type, "a node") || !ToIds(path, &within)) {
    return nullptr;
  }
  const UseGraphExec exec(self);
  if (!exec) return nullptr;
  const UseNode node(which);
  if (!node) return nullptr;
  return NoneOrRaise(hf_graph_exec_set_node(exec.get(), within.data(),
                                            within.size(), id, node.get()));
}

// _set_enabled(within, id, enabled)
PyObject* SetEnabled(PyObject* self, PyObject* arguments) {
  PyObject* path = nullptr;
  Number<uint32_t> id("id");
  int enabled = 0;
  std::vector<uint32_t> within;
  if (!PyArg_ParseTuple(arguments, "OO&p", &path, ToNumber, &id, &enabled) ||
      !ToIds(path, &within)) {
    return nullptr;
  }
  const UseGraphExec exec(self);
  if (!exec) return nullptr;
  return NoneOrRaise(hf_graph_exec_set_enabled(
      exec.get(), within.data(), within.size(), id, enabled != 0));
}

PyObject* ExecHandle(PyObject* self, void*) {
  const UseGraphExec exec(self);
  return exec ? PyLong_FromUnsignedLongLong(hf_graph_exec_handle(exec.get()))
              : nullptr;
}

PyType_Slot graph_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc<hf_graph, hf_graph_free>)},
    {0, nullptr},
};

PyType_Spec graph_spec = {"holdfast._native.DaemonGraph",
                          sizeof(Handle<hf_graph>), 0, Py_TPFLAGS_DEFAULT,
                          graph_slots};

PyMethodDef exec_methods[] = {
    {"_create", CreateExec, METH_VARARGS, nullptr},
    {"_launch", OnStream<hf_graph_exec_launch>, METH_O, nullptr},
    {"_upload", OnStream<hf_graph_exec_upload>, METH_O, nullptr},
    {"_update", Update, METH_O, nullptr},
    {"_set_node", SetNode, METH_VARARGS, nullptr},
    {"_set_enabled", SetEnabled, METH_VARARGS, nullptr},
    {"_close", Close<hf_graph_exec, hf_graph_exec_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef exec_properties[] = {
    {"_handle", ExecHandle, nullptr, nullptr, nullptr},
    {"_closed", IsClosed<hf_graph_exec>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot exec_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_graph_exec, hf_graph_exec_free>)},
    {Py_tp_methods, exec_methods},
    {Py_tp_getset, exec_properties},
    {0, nullptr},
};

PyType_Spec exec_spec = {"holdfast._native.Graph",
                         sizeof(Handle<hf_graph_exec>), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, exec_slots};

PyMethodDef functions[] = {
    {"make_graph", MakeGraph, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool AddGraphs(PyObject* module) {
  return AddType(module, &graph_spec, &graph_type) &&
         AddType(module, &exec_spec, &graph_exec_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
