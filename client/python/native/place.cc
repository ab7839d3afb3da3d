// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/place.h"

#include "client/python/native/number.h"

namespace holdfast::python {

Place::Place(PyObject* memory, uint64_t offset) {
  place_.offset = offset;
  if (PyObject_TypeCheck(memory, span_type)) {
    place_.span = SpanOf(memory);
    is_right_ = CheckNotForked();
    return;
  }
  if (!CheckType(memory, buffer_type, "a Buffer")) return;
  buffer_.emplace(memory);
  place_.buffer = buffer_->get();
  is_right_ = static_cast<bool>(*buffer_);
}

namespace {

// place_copy(destination, offset, source, offset, size, stream)
PyObject* Copy(PyObject*, PyObject* arguments) {
  PyObject* to = nullptr;
  PyObject* from = nullptr;
  PyObject* on = nullptr;
  Number<uint64_t> to_offset("offset of the destination");
  Number<uint64_t> from_offset("offset of the source");
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "OO&OO&O&O", &to, ToNumber, &to_offset,
                        &from, ToNumber, &from_offset, ToNumber, &size, &on) ||
      !CheckType(on, stream_type, "a Stream")) {
    return nullptr;
  }
  const Place destination(to, to_offset);
  if (!destination) return nullptr;
  const Place source(from, from_offset);
  if (!source) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_place_copy(destination.get(), source.get(), size, stream.get());
  }
  return NoneOrRaise(error);
}

// place_fill(destination, offset, size, pattern, stream)
PyObject* Fill(PyObject*, PyObject* arguments) {
  PyObject* to = nullptr;
  PyObject* on = nullptr;
  const char* pattern = nullptr;
  Py_ssize_t pattern_size = 0;
  Number<uint64_t> offset("offset");
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "OO&O&y#O", &to, ToNumber, &offset, ToNumber,
                        &size, &pattern, &pattern_size, &on) ||
      !CheckType(on, stream_type, "a Stream")) {
    return nullptr;
  }
  const Place destination(to, offset);
  if (!destination) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error =
        hf_place_fill(destination.get(), size, /*height=*/1, /*pitch=*/0,
                      pattern, static_cast<size_t>(pattern_size), stream.get());
  }
  return NoneOrRaise(error);
}

PyMethodDef functions[] = {
    {"place_copy", Copy, METH_VARARGS, nullptr},
    {"place_fill", Fill, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool AddPlaces(PyObject* module) {
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
