// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/method.h"

#include <algorithm>
#include <cstring>

namespace holdfast::python {

const char* ToText(PyObject* object, const char* name) {
  if (PyUnicode_Check(object) == 0) {
    PyErr_Format(PyExc_TypeError, "%s must be a str, got %R", name,
                 Py_TYPE(object));
    return nullptr;
  }
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr || std::strlen(text) == static_cast<size_t>(size)) {
    return text;
  }
  PyErr_Format(PyExc_ValueError, "%s has a null character: %R", name, object);
  return nullptr;
}

bool ToBlob(PyObject* object, const char* name, size_t size, uint8_t* blob) {
  char* data = nullptr;
  Py_ssize_t given = 0;
  if (PyBytes_AsStringAndSize(object, &data, &given) != 0) return false;
  if (given != static_cast<Py_ssize_t>(size)) {
    PyErr_Format(PyExc_ValueError, "%zu bytes of %s expected, got %zd", size,
                 name, given);
    return false;
  }
  std::copy_n(data, size, blob);
  return true;
}

bool internal::RefuseCount(const char* name, size_t expected,
                           Py_ssize_t count) {
  PyErr_Format(PyExc_TypeError, "%s takes %zu arguments, got %zd", name,
               expected, count);
  return false;
}

bool AddType(PyObject* module, const ClassParts& parts, PyTypeObject** type) {
  std::array<PyType_Slot, 5> slots{};
  size_t count = 0;
  const auto add = [&](int slot, auto* part) {
    if (part == nullptr) return;
    slots[count++] = {slot, reinterpret_cast<void*>(part)};
  };
  add(Py_tp_dealloc, parts.dealloc);
  add(Py_tp_methods, parts.methods);
  add(Py_tp_getset, parts.properties);
  add(Py_bf_getbuffer, parts.get_buffer);
  PyType_Spec spec = {parts.name, static_cast<int>(parts.size), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots.data()};
  *type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return *type != nullptr && PyModule_AddType(module, *type) == 0;
}

}  // namespace holdfast::python
