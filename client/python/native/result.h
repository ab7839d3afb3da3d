// SPDX-License-Identifier: Apache-2.0
//
// Result<T> converts a T of C++ that a method returns to a Python object. Make
// returns a new reference, or null with an exception set.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_RESULT_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_RESULT_H_

#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/python/native/argument.h"
#include "client/python/native/native.h"

namespace holdfast::python {

template <typename T>
struct Result;

template <>
struct Result<PyObject*> {
  static PyObject* Make(PyObject* object) { return object; }
};

template <std::unsigned_integral T>
struct Result<T> {
  static PyObject* Make(T value) { return PyLong_FromUnsignedLongLong(value); }
};

template <std::signed_integral T>
struct Result<T> {
  static PyObject* Make(T value) { return PyLong_FromLongLong(value); }
};

template <>
struct Result<bool> {
  static PyObject* Make(bool value) { return PyBool_FromLong(value); }
};

template <std::floating_point T>
struct Result<T> {
  static PyObject* Make(T value) { return PyFloat_FromDouble(value); }
};

template <>
struct Result<const char*> {
  static PyObject* Make(const char* text) { return PyUnicode_FromString(text); }
};

template <>
struct Result<std::string> {
  static PyObject* Make(const std::string& text) {
    return PyUnicode_FromStringAndSize(text.data(),
                                       static_cast<Py_ssize_t>(text.size()));
  }
};

// Returns a str, and frees the text.
template <>
struct Result<hf_text*> {
  static PyObject* Make(hf_text* text) {
    PyObject* const string = PyUnicode_FromStringAndSize(
        hf_text_data(text), static_cast<Py_ssize_t>(hf_text_size(text)));
    hf_text_free(text);
    return string;
  }
};

template <Owned H>
struct Result<H*> {
  static PyObject* Make(H* object) { return Wrap(object); }
};

template <size_t kSize>
struct Result<Blob<kSize>> {
  static PyObject* Make(const Blob<kSize>& blob) {
    return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(blob.bytes),
                                     Py_ssize_t{kSize});
  }
};

template <typename T>
struct Result<std::optional<T>> {
  static PyObject* Make(const std::optional<T>& value) {
    if (!value.has_value()) Py_RETURN_NONE;
    return Result<T>::Make(*value);
  }
};

template <typename... T>
struct Result<std::tuple<T...>> {
  static PyObject* Make(const std::tuple<T...>& items) {
    Ref tuple(PyTuple_New(Py_ssize_t{sizeof...(T)}));
    Py_ssize_t index = 0;
    const auto set = [&](PyObject* item) {
      return item != nullptr &&
             PyTuple_SetItem(tuple.get(), index++, item) == 0;
    };
    const bool is_made =
        tuple && std::apply(
                     [&](const T&... item) {
                       return (set(Result<T>::Make(item)) && ...);
                     },
                     items);
    return is_made ? tuple.release() : nullptr;
  }
};

// Returns a tuple.
template <typename T>
struct Result<std::vector<T>> {
  static PyObject* Make(const std::vector<T>& items) {
    Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
    for (size_t i = 0; tuple && i < items.size(); ++i) {
      PyObject* const item = Result<T>::Make(items[i]);
      if (item == nullptr) return nullptr;
      PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), item);
    }
    return tuple.release();
  }
};

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_RESULT_H_
