// SPDX-License-Identifier: Apache-2.0
//
// Arenas: memory of this process that the executor copies from and to. A Span
// gives it to NumPy by the buffer protocol.
#include "client/python/native/native.h"
#include "client/python/native/number.h"

namespace holdfast::python {

PyTypeObject* arena_type = nullptr;
PyTypeObject* span_type = nullptr;

namespace {

// A span, which keeps its memory while views of it are left.
struct Span {
  PyObject_HEAD hf_span* span;
};

}  // namespace

hf_span* SpanOf(PyObject* span) { return reinterpret_cast<Span*>(span)->span; }

namespace {

// Arena(session, size, descriptor of its memory or -1): of memory that is
// given, all is taken.
PyObject* MakeArena(PyObject*, PyObject* arguments) {
  PyObject* from = nullptr;
  Number<uint64_t> size("size");
  int memory = -1;
  if (!PyArg_ParseTuple(arguments, "OO&|i", &from, ToNumber, &size, &memory) ||
      !CheckType(from, session_type, "a Session")) {
    return nullptr;
  }
  const UseSession session(from);
  if (!session) return nullptr;
  hf_arena* arena = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = memory < 0 ? hf_arena_create(session.get(), size, &arena)
                       : hf_arena_create_of(session.get(), memory, &arena);
  }
  if (error != nullptr) return Raise(error);
  PyObject* const self = NewObject(arena_type);
  if (self == nullptr) {
    hf_arena_free(arena);
    return nullptr;
  }
  reinterpret_cast<Handle<hf_arena>*>(self)->object = arena;
  return self;
}

// Takes the span, unless there is an error, which is raised.
PyObject* SpanOrRaise(hf_span* span, hf_error* error) {
  if (error != nullptr) return Raise(error);
  PyObject* const made = NewObject(span_type);
  if (made == nullptr) {
    hf_span_free(span);
    return nullptr;
  }
  reinterpret_cast<Span*>(made)->span = span;
  return made;
}

PyObject* AllocateSpan(PyObject* self, PyObject* size) {
  Number<uint64_t> bytes("size");
  if (!bytes.Take(size)) return nullptr;
  const UseArena arena(self);
  if (!arena) return nullptr;
  hf_span* span = nullptr;
  hf_error* const error = hf_arena_allocate(arena.get(), bytes, &span);
  return SpanOrRaise(span, error);
}

// (offset, size): bytes that another process has allocated.
PyObject* SpanAt(PyObject* self, PyObject* arguments) {
  Number<uint64_t> offset("offset");
  Number<uint64_t> bytes("size");
  if (!PyArg_ParseTuple(arguments, "O&O&", ToNumber, &offset, ToNumber,
                        &bytes)) {
    return nullptr;
  }
  const UseArena arena(self);
  if (!arena) return nullptr;
  hf_span* span = nullptr;
  hf_error* const error = hf_arena_span_at(arena.get(), offset, bytes, &span);
  return SpanOrRaise(span, error);
}

void DeallocSpan(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  if (!IsForked()) hf_span_free(SpanOf(self));
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  return PyBuffer_FillInfo(view, self, hf_span_data(SpanOf(self)),
                           static_cast<Py_ssize_t>(hf_span_size(SpanOf(self))),
                           /*readonly=*/0, flags);
}

PyObject* SpanSize(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(hf_span_size(SpanOf(self)));
}

PyObject* SpanOffset(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(hf_span_offset(SpanOf(self)));
}

PyObject* SpanAddress(PyObject* self, void*) {
  return PyLong_FromVoidPtr(hf_span_data(SpanOf(self)));
}

using CopySpan = hf_error* (*)(const hf_span*, uint64_t, const hf_buffer*,
                               uint64_t, uint64_t, const hf_stream*);

// (span offset, buffer, offset, size, stream)
template <CopySpan Copy>
PyObject* CopyBytes(PyObject* self, PyObject* arguments) {
  PyObject* with = nullptr;
  PyObject* on = nullptr;
  Number<uint64_t> span_offset("offset");
  Number<uint64_t> offset("offset");
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "O&OO&O&O", ToNumber, &span_offset, &with,
                        ToNumber, &offset, ToNumber, &size, &on) ||
      !CheckType(with, buffer_type, "a Buffer") ||
      !CheckType(on, stream_type, "a Stream")) {
    return nullptr;
  }
  const UseBuffer buffer(with);
  if (!buffer) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = Copy(SpanOf(self), span_offset, buffer.get(), offset, size,
                 stream.get());
  }
  return NoneOrRaise(error);
}

PyMethodDef arena_methods[] = {
    {"allocate", AllocateSpan, METH_O, nullptr},
    {"span_at", SpanAt, METH_VARARGS, nullptr},
    {"close", Close<hf_arena, hf_arena_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot arena_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc<hf_arena, hf_arena_free>)},
    {Py_tp_methods, arena_methods},
    {0, nullptr},
};

PyType_Spec arena_spec = {"holdfast._native.Arena", sizeof(Handle<hf_arena>), 0,
                          Py_TPFLAGS_DEFAULT, arena_slots};

PyMethodDef span_methods[] = {
    {"to_buffer", CopyBytes<hf_span_to_buffer>, METH_VARARGS, nullptr},
    {"from_buffer", CopyBytes<hf_span_from_buffer>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef span_properties[] = {
    {"size", SpanSize, nullptr, nullptr, nullptr},
    {"offset", SpanOffset, nullptr, nullptr, nullptr},
    {"address", SpanAddress, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot span_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(DeallocSpan)},
    {Py_tp_methods, span_methods},
    {Py_tp_getset, span_properties},
    {Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
    {0, nullptr},
};

PyType_Spec span_spec = {"holdfast._native.Span", sizeof(Span), 0,
                         Py_TPFLAGS_DEFAULT, span_slots};

PyMethodDef functions[] = {
    {"make_arena", MakeArena, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool AddHostMemory(PyObject* module) {
  return AddType(module, &arena_spec, &arena_type) &&
         AddType(module, &span_spec, &span_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
