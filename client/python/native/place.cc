// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/place.h"

#include "client/python/native/method.h"

namespace holdfast::python {
namespace {

hf_error* Copy(const Memory& destination, uint64_t offset, const Memory& source,
               uint64_t source_offset, uint64_t size, const hf_stream* stream) {
  const hf_place to = At(destination, offset);
  const hf_place from = At(source, source_offset);
  return hf_place_copy(&to, &from, size, stream);
}

hf_error* Fill(const Memory& destination, uint64_t offset, uint64_t size,
               const BytesToRead& pattern, const hf_stream* stream) {
  const hf_place to = At(destination, offset);
  return hf_place_fill(&to, size, /*height=*/1, /*pitch=*/0, pattern.data,
                       pattern.size, stream);
}

PyMethodDef functions[] = {
    Function<"place_copy", Copy, "destination", "offset of the destination",
             "source", "offset of the source", "size", "stream">(),
    Function<"place_fill", Fill, "destination", "offset", "size", "pattern",
             "stream">(),
    {},
};

}  // namespace

bool AddPlaces(PyObject* module) {
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
