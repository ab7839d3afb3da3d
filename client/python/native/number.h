// SPDX-License-Identifier: Apache-2.0
//
// Numbers from users: sizes, offsets, dimensions, ordinals. PyArg_Parse's own
// formats for unsigned numbers silently drop bits that do not fit.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_NUMBER_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_NUMBER_H_

#include <Python.h>

#include <cstdint>

namespace holdfast::python {

// Accepts any object with __index__ (an int, a NumPy integer), but not bool or
// float. Returns false with an exception that names the number: TypeError,
// ValueError if it is negative, OverflowError if it is over the limit.
bool ToNumber(PyObject* object, const char* name, uint64_t limit,
              uint64_t* number);

// Accepts the same objects, for a number with a sign.
bool ToInt(PyObject* object, const char* name, int32_t* number);

// Accepts a number of seconds: at least 0, not NaN. Returns false, with an
// exception set, for other objects.
bool ToSeconds(PyObject* object, const char* name, double* seconds);

// Adds the function whole_number to the module. Returns false, with an
// exception set, if that fails.
bool AddNumbers(PyObject* module);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_NUMBER_H_
