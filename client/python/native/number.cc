// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/number.h"

#include "client/python/native/method.h"

namespace holdfast::python {
namespace {

bool RefuseLarge(PyObject* number, const char* name, uint64_t limit) {
  PyErr_Clear();
  PyErr_Format(PyExc_OverflowError, "%s is too large: %R, the limit is %llu",
               name, number, static_cast<unsigned long long>(limit));
  return false;
}

// whole_number(name, value, limit) -> value as an int of Python
PyObject* WholeNumber(const char* name, PyObject* value, uint64_t limit) {
  uint64_t number = 0;
  return ToNumber(value, name, limit, &number) ? PyNumber_Index(value)
                                               : nullptr;
}

PyMethodDef functions[] = {
    Function<"whole_number", WholeNumber, "name", "value", "limit">(),
    {},
};

}  // namespace

bool ToNumber(PyObject* object, const char* name, uint64_t limit,
              uint64_t* number) {
  if (PyBool_Check(object) || PyIndex_Check(object) == 0) {
    PyErr_Format(PyExc_TypeError, "%s must be an int, got %R", name,
                 Py_TYPE(object));
    return false;
  }
  const Ref index(PyNumber_Index(object));
  if (!index) return false;
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(index.get(), &overflow);
  if (overflow < 0 || (overflow == 0 && value < 0)) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_Format(PyExc_ValueError, "%s must be >= 0, got %R", name,
                   index.get());
    }
    return false;
  }
  *number = static_cast<uint64_t>(value);
  if (overflow > 0) {
    *number = PyLong_AsUnsignedLongLong(index.get());
    if (PyErr_Occurred() != nullptr) {
      return RefuseLarge(index.get(), name, limit);
    }
  }
  return *number <= limit || RefuseLarge(index.get(), name, limit);
}

bool ToInt(PyObject* object, const char* name, int32_t* number) {
  const int64_t value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred() != nullptr) return false;
  *number = static_cast<int32_t>(value);
  if (*number == value) return true;
  PyErr_Format(PyExc_OverflowError, "%s does not fit into 32 bits: %R", name,
               object);
  return false;
}

bool ToSeconds(PyObject* object, const char* name, double* seconds) {
  *seconds = PyBool_Check(object) ? -1 : PyFloat_AsDouble(object);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s must be a number of seconds, got %R",
                 name, Py_TYPE(object));
    return false;
  }
  if (*seconds >= 0) return true;
  PyErr_Format(PyExc_ValueError, "%s must be >= 0 seconds, got %R", name,
               object);
  return false;
}

bool AddNumbers(PyObject* module) {
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
