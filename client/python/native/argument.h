// SPDX-License-Identifier: Apache-2.0
//
// Argument<T>: a Python object that a method takes as a T of C++.
//
//   bool Take(PyObject* object, const char* name);  // false with an exception
//   T get();                                        // valid while this lives
//
// `name` is the argument's name in messages.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_ARGUMENT_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_ARGUMENT_H_

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "client/python/native/array_bytes.h"
#include "client/python/native/native.h"
#include "client/python/native/number.h"

namespace holdfast::python {

template <typename T>
class Argument;

// Returns the text of a str without NUL, which lives as long as `object`; null
// with an exception.
const char* ToText(PyObject* object, const char* name);

// Copies a bytes object of this size. Returns false with an exception.
bool ToBlob(PyObject* object, const char* name, size_t size, uint8_t* blob);

// The base of most Arguments, with their value.
template <typename T>
class Value {
 public:
  T& get() { return value_; }

 protected:
  T value_{};
};

template <std::unsigned_integral T>
class Argument<T> : public Value<T> {
 public:
  bool Take(PyObject* object, const char* name) {
    uint64_t value = 0;
    if (!ToNumber(object, name, std::numeric_limits<T>::max(), &value)) {
      return false;
    }
    this->value_ = static_cast<T>(value);
    return true;
  }
};

template <>
class Argument<bool> : public Value<bool> {
 public:
  bool Take(PyObject* object, const char*) {
    const int is_true = PyObject_IsTrue(object);
    value_ = is_true == 1;
    return is_true >= 0;
  }
};

template <>
class Argument<int32_t> : public Value<int32_t> {
 public:
  bool Take(PyObject* object, const char* name) {
    return ToInt(object, name, &value_);
  }
};

template <typename T>
requires std::is_enum_v<T>
class Argument<T> : public Value<T> {
 public:
  bool Take(PyObject* object, const char* name) {
    int32_t value = 0;
    if (!ToInt(object, name, &value)) return false;
    this->value_ = static_cast<T>(value);
    return true;
  }
};

template <>
class Argument<int64_t> : public Value<int64_t> {
 public:
  bool Take(PyObject* object, const char*) {
    value_ = PyLong_AsLongLong(object);
    return value_ != -1 || PyErr_Occurred() == nullptr;
  }
};

// Seconds: at least 0, not NaN.
template <>
class Argument<double> : public Value<double> {
 public:
  bool Take(PyObject* object, const char* name) {
    return ToSeconds(object, name, &value_);
  }
};

template <>
class Argument<const char*> : public Value<const char*> {
 public:
  bool Take(PyObject* object, const char* name) {
    return (value_ = ToText(object, name)) != nullptr;
  }
};

template <>
class Argument<std::string> : public Value<std::string> {
 public:
  bool Take(PyObject* object, const char* name) {
    const char* const text = ToText(object, name);
    if (text != nullptr) value_ = text;
    return text != nullptr;
  }
};

template <>
class Argument<PyObject*> : public Value<PyObject*> {
 public:
  bool Take(PyObject* object, const char*) {
    value_ = object;
    return true;
  }
};

// The object of a handle, which is in use while this lives.
template <Owned H>
class Argument<Use<H>> {
 public:
  bool Take(PyObject* object, const char*) {
    return CheckType(object, Class<std::remove_const_t<H>>::type,
                     Class<std::remove_const_t<H>>::name) &&
           use_.Begin(object);
  }
  // Takes the `self` of a method, whose type was checked.
  bool TakeSelf(PyObject* self) { return use_.Begin(self); }
  Use<H>& get() { return use_; }

 private:
  Use<H> use_;
};

template <Owned H>
class Argument<H*> : public Argument<Use<std::remove_const_t<H>>> {
 public:
  H* get() { return Argument<Use<std::remove_const_t<H>>>::get().get(); }
};

// An object of class A or of class B.
template <Owned A, Owned B>
class Argument<std::variant<A*, B*>> : public Value<std::variant<A*, B*>> {
 public:
  bool Take(PyObject* object, const char* name) {
    if (PyObject_TypeCheck(object, Class<A>::type)) {
      if (!first_.Take(object, name)) return false;
      this->value_ = first_.get();
      return true;
    }
    if (PyObject_TypeCheck(object, Class<B>::type)) {
      if (!second_.Take(object, name)) return false;
      this->value_ = second_.get();
      return true;
    }
    PyErr_Format(PyExc_TypeError, "%s or %s expected, got %R", Class<A>::name,
                 Class<B>::name, Py_TYPE(object));
    return false;
  }

 private:
  Argument<A*> first_;
  Argument<B*> second_;
};

// None, or a T.
template <typename T>
class Argument<std::optional<T>> : public Value<std::optional<T>> {
 public:
  bool Take(PyObject* object, const char* name) {
    if (object == Py_None) return true;
    if (!argument_.Take(object, name)) return false;
    this->value_.emplace(argument_.get());
    return true;
  }

 private:
  Argument<T> argument_;
};

// A tuple with one item for each T.
template <typename... T>
class Argument<std::tuple<T...>> {
 public:
  bool Take(PyObject* object, const char* name) {
    if (PyTuple_Check(object) == 0 ||
        PyTuple_Size(object) != Py_ssize_t{sizeof...(T)}) {
      PyErr_Format(PyExc_TypeError, "%s must be a tuple of %zu, got %R", name,
                   sizeof...(T), object);
      return false;
    }
    Py_ssize_t index = 0;
    return std::apply(
        [&](auto&... item) {
          return (item.Take(PyTuple_GetItem(object, index++), name) && ...);
        },
        items_);
  }
  std::tuple<T...> get() {
    return std::apply(
        [](auto&... item) { return std::tuple<T...>(item.get()...); }, items_);
  }

 private:
  std::tuple<Argument<T>...> items_;
};

// A sequence. Its items are copied: T must not refer to memory of an item.
template <typename T>
class Argument<std::vector<T>> : public Value<std::vector<T>> {
 public:
  bool Take(PyObject* object, const char* name) {
    const Py_ssize_t count = PySequence_Size(object);
    if (count < 0) return false;
    for (Py_ssize_t i = 0; i < count; ++i) {
      const Ref item(PySequence_GetItem(object, i));
      Argument<T> argument;
      if (!item || !argument.Take(item.get(), name)) return false;
      this->value_.push_back(argument.get());
    }
    return true;
  }
};

// The bytes of an object with the buffer protocol, for reading or for writing;
// see ArrayBytes.
template <ArrayBytes::Access kAccess>
struct Bytes {
  void* data;
  size_t size;
};
using BytesToRead = Bytes<ArrayBytes::Access::kRead>;
using BytesToWrite = Bytes<ArrayBytes::Access::kWrite>;

template <ArrayBytes::Access kAccess>
class Argument<Bytes<kAccess>> {
 public:
  bool Take(PyObject* object, const char*) {
    bytes_.emplace(object, kAccess);
    return static_cast<bool>(*bytes_);
  }
  Bytes<kAccess> get() {
    return {bytes_->data(), static_cast<size_t>(bytes_->size())};
  }

 private:
  std::optional<ArrayBytes> bytes_;
};

// A fixed number of bytes, such as a token of the daemon.
template <size_t kSize>
struct Blob {
  uint8_t bytes[kSize];
};
using Token = Blob<HF_TOKEN_BYTES>;
using IpcHandle = Blob<HF_IPC_HANDLE_BYTES>;

template <size_t kSize>
class Argument<Blob<kSize>> : public Value<Blob<kSize>> {
 public:
  bool Take(PyObject* object, const char* name) {
    return ToBlob(object, name, kSize, this->value_.bytes);
  }
};

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_ARGUMENT_H_
