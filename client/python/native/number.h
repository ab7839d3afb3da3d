// SPDX-License-Identifier: Apache-2.0
//
// Numbers from users: sizes, offsets, dimensions, ordinals. PyArg_Parse's own
// formats for unsigned numbers silently drop bits that do not fit.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_NUMBER_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_NUMBER_H_

#include <Python.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace holdfast::python {

// A number to parse, with its name for messages.
class AnyNumber {
 public:
  AnyNumber(const char* name, uint64_t limit) : name_(name), limit_(limit) {}

  // Takes any object with __index__ (an int, a NumPy integer), but no bool and
  // no float. Returns false with an exception that names the number: TypeError,
  // ValueError if it is negative, OverflowError if it is over the limit.
  bool Take(PyObject* object);

 protected:
  uint64_t value_ = 0;

 private:
  bool RefuseLarge(PyObject* number) const;

  const char* name_;
  uint64_t limit_;
};

// A number of type T, 0 until it is parsed:
//
//   Number<uint64_t> size("size");
//   PyArg_ParseTuple(arguments, "OO&", &from, ToNumber, &size)
template <typename T>
requires std::is_unsigned_v<T>
class Number : public AnyNumber {
 public:
  explicit Number(const char* name)
      : AnyNumber(name, std::numeric_limits<T>::max()) {}

  // NOLINTNEXTLINE(google-explicit-constructor): it stands for its value.
  operator T() const { return static_cast<T>(value_); }
};

// A converter of PyArg_Parse's "O&"; `number` is an AnyNumber.
int ToNumber(PyObject* object, void* number);

// Seconds, for "O&": at least 0, not NaN.
class Seconds {
 public:
  explicit Seconds(const char* name) : name_(name) {}
  bool Take(PyObject* object);
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for its value.
  operator double() const { return value_; }

 private:
  const char* name_;
  double value_ = 0;
};

int ToSeconds(PyObject* object, void* seconds);

// Adds whole_number to the module; false, with an exception.
bool AddNumbers(PyObject* module);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_NUMBER_H_
