// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/dlpack.h"

#include <memory>
#include <vector>

namespace holdfast::python {
namespace {

// The structs of DLPack 0.8, whose layout is its ABI.
struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DlpackDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void* manager;
  void (*deleter)(DLManagedTensor* self);
};

constexpr uint8_t kUnsigned = 1;

struct Tensor : DLManagedTensor {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // empty: as C has them
};

// Called by the library that took the memory, with or without the GIL.
void Release(DLManagedTensor* managed) {
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(managed->manager));
  PyGILState_Release(state);
  delete static_cast<Tensor*>(managed);
}

// Destroys a capsule that was never consumed: a consumed one is renamed.
void DestroyCapsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor") == 0) return;
  auto* const managed =
      static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  managed->deleter(managed);
}

// Takes a Tensor with data, device, type and shape; `owner` keeps the memory.
PyObject* ToCapsule(Tensor* tensor, PyObject* owner) {
  DLTensor& described = tensor->tensor;
  described.ndim = static_cast<int32_t>(tensor->shape.size());
  described.shape = tensor->shape.data();
  described.strides =
      tensor->strides.empty() ? nullptr : tensor->strides.data();
  tensor->manager = owner;
  tensor->deleter = Release;
  Py_INCREF(owner);
  PyObject* const capsule = PyCapsule_New(static_cast<DLManagedTensor*>(tensor),
                                          "dltensor", DestroyCapsule);
  if (capsule == nullptr) Release(tensor);
  return capsule;
}

// A sequence of int; None: nothing. False, with an exception.
bool ToExtents(PyObject* sequence, std::vector<int64_t>* extents) {
  if (sequence == Py_None) return true;
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(sequence, i));
    if (!item) return false;
    extents->push_back(PyLong_AsLongLong(item.get()));
    if (PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

PyObject* ToTuple(const int64_t* extents, int32_t count) {
  if (count > 0 && extents == nullptr) Py_RETURN_NONE;
  Ref tuple(PyTuple_New(count));
  for (int32_t i = 0; tuple && i < count; ++i) {
    PyTuple_SetItem(tuple.get(), i, PyLong_FromLongLong(extents[i]));
  }
  return tuple.release();
}

// make_dlpack(owner, address, device type, device, type code, bits, shape,
// strides or None)
PyObject* MakeDlpack(PyObject*, PyObject* arguments) {
  PyObject* owner = nullptr;
  PyObject* shape = nullptr;
  PyObject* strides = nullptr;
  unsigned long long address = 0;
  int device_type = 0;
  int device = 0;
  int code = 0;
  int bits = 0;
  auto tensor = std::make_unique<Tensor>(Tensor{});
  if (!PyArg_ParseTuple(arguments, "OKiiiiOO", &owner, &address, &device_type,
                        &device, &code, &bits, &shape, &strides) ||
      !ToExtents(shape, &tensor->shape) ||
      !ToExtents(strides, &tensor->strides)) {
    return nullptr;
  }
  DLTensor& described = tensor->tensor;
  described.data = reinterpret_cast<void*>(address);
  described.device = {device_type, device};
  described.dtype = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  return ToCapsule(tensor.release(), owner);
}

constexpr char kTaken[] = "used_dltensor";

// The destructor of a capsule that keeps what was taken.
void EndTaken(PyObject* capsule) {
  auto* const managed =
      static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, kTaken));
  if (managed != nullptr && managed->deleter != nullptr) {
    managed->deleter(managed);
  }
}

// take_dlpack(capsule) -> (what keeps the memory, address, type code, bits,
// lanes, shape, strides or None)
PyObject* TakeDlpack(PyObject*, PyObject* capsule) {
  auto* const managed =
      static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
  if (managed == nullptr) return nullptr;
  Ref keeper(PyCapsule_New(managed, kTaken, nullptr));
  if (!keeper || PyCapsule_SetName(capsule, kTaken) != 0) return nullptr;
  PyCapsule_SetDestructor(keeper.get(), EndTaken);
  const DLTensor& tensor = managed->tensor;
  return Py_BuildValue(
      "(NKiiiNN)", keeper.release(),
      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(tensor.data) +
                                      tensor.byte_offset),
      static_cast<int>(tensor.dtype.code), static_cast<int>(tensor.dtype.bits),
      static_cast<int>(tensor.dtype.lanes), ToTuple(tensor.shape, tensor.ndim),
      ToTuple(tensor.strides, tensor.ndim));
}

// Where the bytes of an object with the buffer protocol lie.
PyObject* AddressOf(PyObject*, PyObject* object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) != 0) return nullptr;
  PyObject* const address = PyLong_FromVoidPtr(view.buf);
  PyBuffer_Release(&view);
  return address;
}

PyMethodDef functions[] = {
    {"make_dlpack", MakeDlpack, METH_VARARGS, nullptr},
    {"take_dlpack", TakeDlpack, METH_O, nullptr},
    {"address_of", AddressOf, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* ToDlpack(PyObject* owner, void* data, uint64_t size,
                   DlpackDevice device) {
  auto tensor = std::make_unique<Tensor>(Tensor{});
  tensor->shape = {static_cast<int64_t>(size)};
  tensor->tensor.data = data;
  tensor->tensor.device = device;
  tensor->tensor.dtype = {kUnsigned, 8, 1};
  return ToCapsule(tensor.release(), owner);
}

bool AddDlpack(PyObject* module) {
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
