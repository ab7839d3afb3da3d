// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/ordinary_memory.h"

#include <cstdlib>
#include <iterator>
#include <map>

#include "client/python/native/method.h"

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

PyObject* Make(Py_ssize_t size) {
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
  const auto& memory = *reinterpret_cast<Ordinary*>(self);
  AllPlaces().erase(AddressOf(memory));
  free(memory.data);
  FreeSelf(self);
}

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const auto& memory = *reinterpret_cast<Ordinary*>(self);
  return PyBuffer_FillInfo(view, self, memory.data, memory.size,
                           /*readonly=*/0, flags);
}

PyMethodDef functions[] = {
    Function<"make_ordinary_memory", Make, "size">(),
    {},
};

}  // namespace

bool IsInOrdinaryMemory(uint64_t address) {
  const Places& places = AllPlaces();
  const auto behind = places.upper_bound(address);
  return behind != places.begin() && address < std::prev(behind)->second;
}

bool AddOrdinaryMemory(PyObject* module) {
  return AddType(module,
                 {.name = "holdfast._native.OrdinaryMemory",
                  .dealloc = DeallocOrdinary,
                  .size = sizeof(Ordinary),
                  .get_buffer = GetBuffer},
                 &ordinary_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
