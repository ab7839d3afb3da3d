// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/fault.h"

#include <cstring>

namespace holdfast::python {
namespace {

// Names and messages come from the daemon, kernels' names from the client: what
// is not UTF-8 is replaced.
PyObject* ToText(const char* text) {
  return PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(strlen(text)),
                              "replace");
}

// A tuple of x, y and z, or None.
PyObject* ToTuple(const hf_dim3* dim) {
  if (dim == nullptr) Py_RETURN_NONE;
  return Py_BuildValue("(III)", dim->x, dim->y, dim->z);
}

// A tuple of `count` items, of which `make(i)` returns each.
template <typename Make>
PyObject* ToTuple(size_t count, Make make) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; tuple && i < count; ++i) {
    PyObject* const item = make(i);
    if (item == nullptr) return nullptr;
    PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.release();
}

PyObject* ToLost(const hf_lost_resource& lost) {
  return Py_BuildValue("(KN)", static_cast<unsigned long long>(lost.handle),
                       ToText(lost.reason));
}

}  // namespace

PyObject* FaultOf(const hf_error* error) {
  const hf_fault* const fault = hf_error_fault(error);
  if (fault == nullptr) Py_RETURN_NONE;
  return Py_BuildValue(
      "{s:K,s:N,s:I,s:N,s:N,s:N,s:N,s:K,s:K,s:K,s:N,s:N,s:K,s:N}", "epoch",
      static_cast<unsigned long long>(fault->epoch), "cause",
      ToText(fault->cause), "device_id", fault->device, "kernel",
      ToText(fault->kernel), "block", ToTuple(fault->block), "thread",
      ToTuple(fault->thread), "source_line", ToText(fault->source_line),
      "completed_through",
      static_cast<unsigned long long>(fault->completed_through),
      "submitted_through",
      static_cast<unsigned long long>(fault->submitted_through),
      "received_through",
      static_cast<unsigned long long>(fault->received_through), "last_commands",
      ToTuple(fault->last_command_count,
              [&](size_t i) { return ToText(fault->last_commands[i]); }),
      "lost",
      ToTuple(fault->lost_listed,
              [&](size_t i) { return ToLost(fault->lost[i]); }),
      "lost_count", static_cast<unsigned long long>(fault->lost_count),
      "description", ToText(fault->description));
}

}  // namespace holdfast::python
