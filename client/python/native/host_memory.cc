// SPDX-License-Identifier: Apache-2.0
//
// Arenas: memory of this process that the executor copies from and to. A Span
// gives it to NumPy by the buffer protocol.
#include "client/python/native/method.h"
#include "client/python/native/native.h"

namespace holdfast::python {
namespace {

// `memory` is a descriptor of memory, all of which is taken; -1: none.
hf_error* MakeArena(hf_session* session, uint64_t size, int32_t memory,
                    hf_arena** arena) {
  return memory < 0 ? hf_arena_create(session, size, arena)
                    : hf_arena_create_of(session, memory, arena);
}

PyMethodDef arena_methods[] = {
    Method<"allocate", kQuick<hf_arena_allocate>, "size">(),
    // Bytes that another process has allocated.
    Method<"span_at", kQuick<hf_arena_span_at>, "offset", "size">(),
    Closing<"close", hf_arena>(),
    {},
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const hf_span* const span = Handle<hf_span>::Of(self)->object;
  return PyBuffer_FillInfo(view, self, hf_span_data(span),
                           static_cast<Py_ssize_t>(hf_span_size(span)),
                           /*readonly=*/0, flags);
}

uint64_t Address(const hf_span* span) {
  return reinterpret_cast<uintptr_t>(hf_span_data(span));
}

PyMethodDef span_methods[] = {
    Method<"to_buffer", hf_span_to_buffer, "span's offset", "buffer", "offset",
           "size", "stream">(),
    Method<"from_buffer", hf_span_from_buffer, "span's offset", "buffer",
           "offset", "size", "stream">(),
    {},
};

PyGetSetDef span_properties[] = {
    Property<"size", hf_span_size>(),
    Property<"offset", hf_span_offset>(),
    Property<"address", Address>(),
    {},
};

PyMethodDef functions[] = {
    Function<"make_arena", MakeArena, "session", "size", "memory">(),
    {},
};

}  // namespace

bool AddHostMemory(PyObject* module) {
  return AddClass<hf_arena>(module,
                            {"holdfast._native.Arena", arena_methods}) &&
         AddClass<hf_span>(module, {.name = "holdfast._native.Span",
                                    .methods = span_methods,
                                    .properties = span_properties,
                                    .get_buffer = GetBuffer}) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
