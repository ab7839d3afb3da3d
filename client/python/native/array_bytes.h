// SPDX-License-Identifier: Apache-2.0
//
// The bytes of arrays in this process, to be copied to a device unchanged.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_ARRAY_BYTES_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_ARRAY_BYTES_H_

#include "client/python/native/native.h"

namespace holdfast::python {

// Checks that the elements of a buffer have the same meaning on a device.
// Returns false with an exception that names their type: TypeError for Python
// objects and pointers of this process, ValueError for the other byte order.
bool CheckElements(const Py_buffer& view);

// The contiguous bytes of an object that has the buffer protocol.
class ArrayBytes {
 public:
  enum class Access { kRead, kWrite };

  // Sets an exception, and converts to false afterwards, if the object has no
  // such buffer, if CheckElements refuses it, or if it is not contiguous
  // (ValueError) or is read-only (BufferError).
  ArrayBytes(PyObject* object, Access access);
  ~ArrayBytes() {
    if (is_held_) PyBuffer_Release(&view_);
  }
  ArrayBytes(const ArrayBytes&) = delete;
  ArrayBytes& operator=(const ArrayBytes&) = delete;

  explicit operator bool() const { return is_right_; }
  void* data() const { return view_.buf; }
  Py_ssize_t size() const { return view_.len; }
  bool readonly() const { return view_.readonly != 0; }

 private:
  Py_buffer view_{};
  bool is_held_;
  bool is_right_;
};

// Adds array_bytes to the module. Returns false with an exception if that
// fails.
bool AddArrayBytes(PyObject* module);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_ARRAY_BYTES_H_
