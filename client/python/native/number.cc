// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/number.h"

#include "client/python/native/native.h"

namespace holdfast::python {

bool AnyNumber::Take(PyObject* object) {
  if (PyBool_Check(object) || PyIndex_Check(object) == 0) {
    PyErr_Format(PyExc_TypeError, "%s must be an int, got %R", name_,
                 Py_TYPE(object));
    return false;
  }
  const Ref number(PyNumber_Index(object));
  if (!number) return false;
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow < 0 || (overflow == 0 && value < 0)) {
    if (PyErr_Occurred() == nullptr) {
      PyErr_Format(PyExc_ValueError, "%s must be >= 0, got %R", name_,
                   number.get());
    }
    return false;
  }
  value_ = static_cast<uint64_t>(value);
  if (overflow > 0) {
    value_ = PyLong_AsUnsignedLongLong(number.get());
    if (PyErr_Occurred() != nullptr) return RefuseLarge(number.get());
  }
  return value_ <= limit_ || RefuseLarge(number.get());
}

bool AnyNumber::RefuseLarge(PyObject* number) const {
  PyErr_Clear();
  PyErr_Format(PyExc_OverflowError, "%s is too large: %R, the limit is %llu",
               name_, number, static_cast<unsigned long long>(limit_));
  return false;
}

int ToNumber(PyObject* object, void* number) {
  return static_cast<AnyNumber*>(number)->Take(object) ? 1 : 0;
}

bool Seconds::Take(PyObject* object) {
  value_ = PyBool_Check(object) ? -1 : PyFloat_AsDouble(object);
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s must be a number of seconds, got %R",
                 name_, Py_TYPE(object));
    return false;
  }
  if (value_ >= 0) return true;
  PyErr_Format(PyExc_ValueError, "%s must be >= 0 seconds, got %R", name_,
               object);
  return false;
}

int ToSeconds(PyObject* object, void* seconds) {
  return static_cast<Seconds*>(seconds)->Take(object) ? 1 : 0;
}

namespace {

// whole_number(name, value, limit) -> value as an int of Python
PyObject* WholeNumber(PyObject*, PyObject* arguments) {
  const char* name = nullptr;
  PyObject* value = nullptr;
  Number<uint64_t> limit("limit");
  if (!PyArg_ParseTuple(arguments, "sOO&", &name, &value, ToNumber, &limit)) {
    return nullptr;
  }
  AnyNumber number(name, limit);
  return number.Take(value) ? PyNumber_Index(value) : nullptr;
}

PyMethodDef functions[] = {
    {"whole_number", WholeNumber, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool AddNumbers(PyObject* module) {
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
