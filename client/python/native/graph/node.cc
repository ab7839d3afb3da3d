// SPDX-License-Identifier: Apache-2.0
//
// The parameters of graph nodes.
#include <utility>
#include <vector>

#include "client/python/native/arguments.h"
#include "client/python/native/graph/graph.h"
#include "client/python/native/native.h"
#include "client/python/native/number.h"
#include "client/python/native/place.h"

namespace holdfast::python {

PyTypeObject* node_type = nullptr;

namespace {

PyObject* NodeOrRaise(hf_error* error, hf_node* node) {
  if (error != nullptr) return Raise(error);
  return Wrap<hf_node, hf_node_free>(node_type, node);
}

// node_launch(config, kernel, *arguments)
PyObject* LaunchNode(PyObject*, PyObject* const* objects, Py_ssize_t count) {
  if (count < 2) {
    PyErr_SetString(PyExc_TypeError,
                    "launch(config, kernel, *arguments) expected");
    return nullptr;
  }
  if (!CheckType(objects[0], config_type, "a LaunchConfig") ||
      !CheckType(objects[1], kernel_type, "a Kernel")) {
    return nullptr;
  }
  const UseKernel kernel(objects[1]);
  if (!kernel) return nullptr;
  Arguments arguments(*reinterpret_cast<Kernel*>(objects[1])->parameters);
  const auto given = static_cast<size_t>(count - 2);
  if (!arguments.Set(objects + 2, given)) return nullptr;
  hf_node* node = nullptr;
  hf_error* const error =
      hf_node_launch(&reinterpret_cast<Config*>(objects[0])->config,
                     kernel.get(), arguments.data(), given, &node);
  if (error != nullptr) return RaiseOfLaunch(error);
  return NodeOrRaise(error, node);
}

// node_copy(destination, offset, source, offset, size)
PyObject* CopyNode(PyObject*, PyObject* arguments) {
  PyObject* to = nullptr;
  PyObject* from = nullptr;
  Number<uint64_t> to_offset("offset of the destination");
  Number<uint64_t> from_offset("offset of the source");
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "OO&OO&O&", &to, ToNumber, &to_offset, &from,
                        ToNumber, &from_offset, ToNumber, &size)) {
    return nullptr;
  }
  const Place destination(to, to_offset);
  if (!destination) return nullptr;
  const Place source(from, from_offset);
  if (!source) return nullptr;
  hf_node* node = nullptr;
  hf_error* const error =
      hf_node_place_copy(destination.get(), source.get(), size, &node);
  return NodeOrRaise(error, node);
}

// node_fill(destination, offset, pattern, width, height, pitch), in bytes
PyObject* FillNode(PyObject*, PyObject* arguments) {
  PyObject* to = nullptr;
  Number<uint64_t> offset("offset");
  const char* pattern = nullptr;
  Py_ssize_t pattern_size = 0;
  Number<uint64_t> width("width");
  Number<uint64_t> height("height");
  Number<uint64_t> pitch("pitch");
  if (!PyArg_ParseTuple(arguments, "OO&y#O&O&O&", &to, ToNumber, &offset,
                        &pattern, &pattern_size, ToNumber, &width, ToNumber,
                        &height, ToNumber, &pitch)) {
    return nullptr;
  }
  const Place destination(to, offset);
  if (!destination) return nullptr;
  hf_node* node = nullptr;
  hf_error* const error =
      hf_node_place_fill(destination.get(), width, height, pitch, pattern,
                         static_cast<size_t>(pattern_size), &node);
  return NodeOrRaise(error, node);
}

template <hf_error* (*Make)(const hf_event*, hf_node**)>
PyObject* EventNode(PyObject*, PyObject* which) {
  if (!CheckType(which, event_type, "an Event")) return nullptr;
  const UseEvent event(which);
  if (!event) return nullptr;
  hf_node* node = nullptr;
  hf_error* const error = Make(event.get(), &node);
  return NodeOrRaise(error, node);
}

PyObject* EmptyNode(PyObject*, PyObject*) {
  hf_node* node = nullptr;
  hf_error* const error = hf_node_empty(&node);
  return NodeOrRaise(error, node);
}

// node_allocation(buffer, device, devices that access it)
PyObject* AllocationNode(PyObject*, PyObject* arguments) {
  PyObject* of = nullptr;
  PyObject* peers = nullptr;
  Number<uint32_t> device("device");
  std::vector<uint32_t> others;
  if (!PyArg_ParseTuple(arguments, "OO&O", &of, ToNumber, &device, &peers) ||
      !CheckType(of, buffer_type, "a Buffer") || !ToIds(peers, &others)) {
    return nullptr;
  }
  const UseBuffer buffer(of);
  if (!buffer) return nullptr;
  hf_node* node = nullptr;
  hf_error* const error = hf_node_allocation(
      buffer.get(), device, others.data(), others.size(), &node);
  return NodeOrRaise(error, node);
}

PyObject* ReleaseNode(PyObject*, PyObject* of) {
  if (!CheckType(of, buffer_type, "a Buffer")) return nullptr;
  const UseBuffer buffer(of);
  if (!buffer) return nullptr;
  hf_node* node = nullptr;
  hf_error* const error = hf_node_release(buffer.get(), &node);
  return NodeOrRaise(error, node);
}

PyObject* ChildNode(PyObject*, PyObject* of) {
  if (!CheckType(of, definition_type, "a definition")) return nullptr;
  const UseDefinition child(of);
  if (!child) return nullptr;
  hf_node* node = nullptr;
  hf_error* const error = hf_node_child(child.get(), &node);
  return NodeOrRaise(error, node);
}

// The definitions of a sequence, which the caller keeps.
bool ToDefinitions(PyObject* sequence,
                   std::vector<const hf_definition*>* definitions) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(sequence, i));
    if (!item || !CheckType(item.get(), definition_type, "a definition")) {
      return false;
    }
    definitions->push_back(
        reinterpret_cast<Handle<hf_definition>*>(item.get())->object);
  }
  return true;
}

// node_conditional("if" | "while" | "switch", condition, branches)
PyObject* ConditionalNode(PyObject*, PyObject* arguments) {
  const char* kind = nullptr;
  Number<uint32_t> condition("condition");
  PyObject* branches = nullptr;
  std::vector<const hf_definition*> bodies;
  if (!PyArg_ParseTuple(arguments, "sO&O", &kind, ToNumber, &condition,
                        &branches) ||
      !ToDefinitions(branches, &bodies)) {
    return nullptr;
  }
  hf_node* node = nullptr;
  hf_error* error = nullptr;
  if (kind[0] == 's') {
    error = hf_node_switch(condition, bodies.data(), bodies.size(), &node);
  } else if (bodies.empty()) {
    PyErr_SetString(PyExc_ValueError, "a conditional node without a body");
    return nullptr;
  } else if (kind[0] == 'w') {
    error = hf_node_while(condition, bodies[0], &node);
  } else {
    error = hf_node_if(condition, bodies[0],
                       bodies.size() > 1 ? bodies[1] : nullptr, &node);
  }
  return NodeOrRaise(error, node);
}

PyObject* SetDevice(PyObject* self, PyObject* device) {
  Number<uint32_t> ordinal("device");
  if (!ordinal.Take(device)) return nullptr;
  const UseNode node(self);
  if (!node) return nullptr;
  hf_node_set_device(node.get(), ordinal);
  Py_RETURN_NONE;
}

PyObject* Describe(PyObject* self, PyObject*) {
  const UseNode node(self);
  if (!node) return nullptr;
  hf_text* json = nullptr;
  hf_error* const error = hf_node_describe(node.get(), &json);
  return error != nullptr ? Raise(error) : TakeText(json);
}

PyMethodDef methods[] = {
    {"set_device", SetDevice, METH_O, nullptr},
    {"describe", Describe, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc<hf_node, hf_node_free>)},
    {Py_tp_methods, methods},
    {0, nullptr},
};

PyType_Spec spec = {"holdfast._native.Node", sizeof(Handle<hf_node>), 0,
                    Py_TPFLAGS_DEFAULT, slots};

PyMethodDef functions[] = {
    {"node_launch",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(LaunchNode)),
     METH_FASTCALL, nullptr},
    {"node_copy", CopyNode, METH_VARARGS, nullptr},
    {"node_fill", FillNode, METH_VARARGS, nullptr},
    {"node_record", EventNode<hf_node_record>, METH_O, nullptr},
    {"node_wait", EventNode<hf_node_wait>, METH_O, nullptr},
    {"node_empty", EmptyNode, METH_NOARGS, nullptr},
    {"node_allocation", AllocationNode, METH_VARARGS, nullptr},
    {"node_release", ReleaseNode, METH_O, nullptr},
    {"node_child", ChildNode, METH_O, nullptr},
    {"node_conditional", ConditionalNode, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool AddNodes(PyObject* module) {
  return AddType(module, &spec, &node_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
