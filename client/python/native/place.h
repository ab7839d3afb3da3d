// SPDX-License-Identifier: Apache-2.0
//
// The memory of a copy or a fill: device memory (a buffer), or page-locked
// memory of this process (a span).
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_PLACE_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_PLACE_H_

#include <variant>

#include "client/python/native/native.h"

namespace holdfast::python {

using Memory = std::variant<hf_buffer*, hf_span*>;

inline hf_place At(const Memory& memory, uint64_t offset) {
  hf_place place{};
  if (memory.index() == 0) {
    place.buffer = std::get<0>(memory);
  } else {
    place.span = std::get<1>(memory);
  }
  place.offset = offset;
  return place;
}

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_PLACE_H_
