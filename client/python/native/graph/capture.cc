// SPDX-License-Identifier: Apache-2.0
//
// Captures of streams. One that is collected before its end is dropped.
#include "client/python/native/graph/graph.h"
#include "client/python/native/native.h"

namespace holdfast::python {

PyTypeObject* capture_type = nullptr;

namespace {

// begin_capture(stream)
PyObject* Begin(PyObject*, PyObject* on) {
  if (!CheckType(on, stream_type, "a Stream")) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  hf_capture* capture = nullptr;
  hf_error* const error = hf_capture_begin(stream.get(), &capture);
  if (error != nullptr) return Raise(error);
  return Wrap<hf_capture, hf_capture_free>(capture_type, capture);
}

PyObject* End(PyObject* self, PyObject*) {
  const UseCapture capture(self);
  if (!capture) return nullptr;
  hf_definition* definition = nullptr;
  hf_error* const error = hf_capture_end(capture.get(), &definition);
  if (error != nullptr) return Raise(error);
  return Wrap<hf_definition, hf_definition_free>(definition_type, definition);
}

PyObject* CreateCondition(PyObject* self, PyObject* default_value) {
  uint32_t value = 0;
  const uint32_t* given = nullptr;
  if (!ToDefault(default_value, &value, &given)) return nullptr;
  const UseCapture capture(self);
  if (!capture) return nullptr;
  uint32_t condition = 0;
  hf_error* const error =
      hf_capture_create_condition(capture.get(), given, &condition);
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLong(condition);
}

// add(stream, node) -> id
PyObject* Add(PyObject* self, PyObject* arguments) {
  PyObject* on = nullptr;
  PyObject* which = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO", &on, &which) ||
      !CheckType(on, stream_type, "a Stream") ||
      !CheckType(which, node_type, "a node")) {
    return nullptr;
  }
  const UseCapture capture(self);
  if (!capture) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  const UseNode node(which);
  if (!node) return nullptr;
  uint32_t id = 0;
  hf_error* const error =
      hf_capture_add(capture.get(), stream.get(), node.get(), &id);
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLong(id);
}

PyMethodDef methods[] = {
    {"end", End, METH_NOARGS, nullptr},
    {"create_condition", CreateCondition, METH_O, nullptr},
    {"add", Add, METH_VARARGS, nullptr},
    {"close", Close<hf_capture, hf_capture_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_capture, hf_capture_free>)},
    {Py_tp_methods, methods},
    {0, nullptr},
};

PyType_Spec spec = {"holdfast._native.Capture", sizeof(Handle<hf_capture>), 0,
                    Py_TPFLAGS_DEFAULT, slots};

PyMethodDef functions[] = {
    {"begin_capture", Begin, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool AddCaptures(PyObject* module) {
  return AddType(module, &spec, &capture_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
