// SPDX-License-Identifier: Apache-2.0
//
// The memory of a copy or a fill: device memory, or page-locked memory of this
// process.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_PLACE_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_PLACE_H_

#include <optional>

#include "client/python/native/native.h"

namespace holdfast::python {

// Keeps a Buffer or a Span in use while this object lives. False, with an
// exception, if `memory` is neither, or is closed.
class Place {
 public:
  Place(PyObject* memory, uint64_t offset);

  explicit operator bool() const { return is_right_; }
  const hf_place* get() const { return &place_; }

 private:
  std::optional<UseBuffer> buffer_;
  hf_place place_{};
  bool is_right_ = false;
};

// Adds place_copy and place_fill to the module; false, with an exception.
bool AddPlaces(PyObject* module);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_PLACE_H_
