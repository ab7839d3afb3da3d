// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/ordinary_memory.h"

#include <cstdlib>
#include <iterator>
#include <map>

namespace holdfast::python {
namespace {

PyTypeObject* ordinary_type = nullptr;

struct Ordinary {
  PyObject_HEAD void* data;
  Py_ssize_t size;
};

// All of them: from the first byte to behind the last. Guarded by the GIL.
using Places = std::map<uint64_t, uint64_t>;
Places& AllPlaces() {
  static Places& places = *new Places;
  return places;
}

uint64_t AddressOf(const Ordinary& memory) {
  return reinterpret_cast<uintptr_t>(memory.data);
}

// make_ordinary_memory(size)
PyObject* Make(PyObject*, PyObject* argument) {
  const Py_ssize_t size = PyLong_AsSsize_t(argument);
  if (PyErr_Occurred() != nullptr) return nullptr;
  void* const data = size > 0 ? calloc(static_cast<size_t>(size), 1) : nullptr;
  if (data == nullptr) return PyErr_NoMemory();
  PyObject* const self = NewObject(ordinary_type);
  if (self == nullptr) {
    free(data);
    return nullptr;
  }
  auto& memory = *reinterpret_cast<Ordinary*>(self);
  memory.data = data;
  memory.size = size;
  const uint64_t address = AddressOf(memory);
  AllPlaces()[address] = address + static_cast<uint64_t>(size);
  return self;
}

void DeallocOrdinary(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  const auto& memory = *reinterpret_cast<Ordinary*>(self);
  AllPlaces().erase(AddressOf(memory));
  free(memory.data);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const auto& memory = *reinterpret_cast<Ordinary*>(self);
  return PyBuffer_FillInfo(view, self, memory.data, memory.size,
                           /*readonly=*/0, flags);
}

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(DeallocOrdinary)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
    {0, nullptr},
};

PyType_Spec spec = {"holdfast._native.OrdinaryMemory", sizeof(Ordinary), 0,
                    Py_TPFLAGS_DEFAULT, slots};

PyMethodDef functions[] = {
    {"make_ordinary_memory", Make, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool IsInOrdinaryMemory(uint64_t address) {
  const Places& places = AllPlaces();
  const auto behind = places.upper_bound(address);
  return behind != places.begin() && address < std::prev(behind)->second;
}

bool AddOrdinaryMemory(PyObject* module) {
  return AddType(module, &spec, &ordinary_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
