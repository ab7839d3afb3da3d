// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/dlpack.h"

#include <memory>
#include <optional>
#include <vector>

#include "client/python/native/dlpack_structs.h"
#include "client/python/native/method.h"

namespace holdfast::python {
namespace {

// What a capsule describes, until a struct of either kind is made of it.
struct Description {
  DLTensor tensor;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // empty: as C has them
};

template <typename Managed>
struct Tensor : Managed {
  Description description;
};

// Called by the library that took the memory, with or without the GIL.
template <typename Managed>
void Release(Managed* managed) {
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(managed->manager));
  PyGILState_Release(state);
  delete static_cast<Tensor<Managed>*>(managed);
}

// Destroys a capsule that was never consumed: a consumed one is renamed.
template <typename Managed>
void DestroyCapsule(PyObject* capsule) {
  const char* const name = kName<Managed>;
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* const managed =
      static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

// Since version 1.2 every tensor tells its strides.
std::vector<int64_t> StridesOfC(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i > 1; --i) {
    strides[i - 2] = strides[i - 1] * shape[i - 1];
  }
  return strides;
}

// `owner` keeps the memory. The caller sets what else the struct has.
template <typename Managed>
std::unique_ptr<Tensor<Managed>> MakeTensor(Description description,
                                            PyObject* owner) {
  auto made = std::make_unique<Tensor<Managed>>();
  made->description = std::move(description);
  Description& kept = made->description;
  made->tensor = kept.tensor;
  made->tensor.ndim = static_cast<int32_t>(kept.shape.size());
  made->tensor.shape = kept.shape.data();
  if (kept.strides.empty()) kept.strides = StridesOfC(kept.shape);
  made->tensor.strides = kept.strides.data();
  made->manager = owner;
  made->deleter = Release<Managed>;
  return made;
}

template <typename Managed>
PyObject* ToCapsule(std::unique_ptr<Tensor<Managed>> tensor) {
  Managed* const managed = tensor.release();
  Py_INCREF(static_cast<PyObject*>(managed->manager));
  PyObject* const capsule =
      PyCapsule_New(managed, kName<Managed>, DestroyCapsule<Managed>);
  if (capsule == nullptr) Release(managed);
  return capsule;
}

PyObject* ToTuple(const int64_t* extents, int32_t count) {
  if (count > 0 && extents == nullptr) Py_RETURN_NONE;
  Ref tuple(PyTuple_New(count));
  for (int32_t i = 0; tuple && i < count; ++i) {
    PyTuple_SetItem(tuple.get(), i, PyLong_FromLongLong(extents[i]));
  }
  return tuple.release();
}

PyObject* MakeDlpack(PyObject* owner, uint64_t address, int32_t device_type,
                     int32_t device, int32_t code, int32_t bits,
                     const std::vector<int64_t>& shape,
                     const std::optional<std::vector<int64_t>>& strides,
                     bool is_versioned, bool is_read_only) {
  Description description{};
  description.shape = shape;
  if (strides.has_value()) description.strides = *strides;
  DLTensor& tensor = description.tensor;
  tensor.data = reinterpret_cast<void*>(address);
  tensor.device = {device_type, device};
  tensor.dtype = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  if (!is_versioned) {
    return ToCapsule(
        MakeTensor<DLManagedTensor>(std::move(description), owner));
  }
  auto made =
      MakeTensor<DLManagedTensorVersioned>(std::move(description), owner);
  made->version = kVersion;
  made->flags = is_read_only ? kReadOnly : 0;
  return ToCapsule(std::move(made));
}

// The destructor of a capsule that keeps what was taken.
template <typename Managed>
void EndTaken(PyObject* capsule) {
  auto* const managed =
      static_cast<Managed*>(PyCapsule_GetPointer(capsule, kUsedName<Managed>));
  if (managed != nullptr && managed->deleter != nullptr) {
    managed->deleter(managed);
  }
}

// Takes what the capsule holds; returns a capsule that keeps it.
template <typename Managed>
PyObject* Take(PyObject* capsule, Managed* managed) {
  Ref keeper(PyCapsule_New(managed, kUsedName<Managed>, nullptr));
  if (!keeper || PyCapsule_SetName(capsule, kUsedName<Managed>) != 0) {
    return nullptr;
  }
  PyCapsule_SetDestructor(keeper.get(), EndTaken<Managed>);
  return keeper.release();
}

PyObject* ToResult(PyObject* keeper, const DLTensor& tensor, bool read_only) {
  if (keeper == nullptr) return nullptr;
  return Py_BuildValue(
      "(NKiiiNNiiN)", keeper,
      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(tensor.data) +
                                      tensor.byte_offset),
      static_cast<int>(tensor.dtype.code), static_cast<int>(tensor.dtype.bits),
      static_cast<int>(tensor.dtype.lanes), ToTuple(tensor.shape, tensor.ndim),
      ToTuple(tensor.strides, tensor.ndim), tensor.device.type,
      tensor.device.id, PyBool_FromLong(read_only));
}

PyObject* TakeVersioned(PyObject* capsule) {
  auto* const managed = static_cast<DLManagedTensorVersioned*>(
      PyCapsule_GetPointer(capsule, kName<DLManagedTensorVersioned>));
  if (managed == nullptr) return nullptr;
  if (managed->version.major != kVersion.major) {
    PyErr_Format(PyExc_BufferError,
                 "a tensor of version %u of DLPack, version %u is supported",
                 managed->version.major, kVersion.major);
    return nullptr;
  }
  return ToResult(Take(capsule, managed), managed->tensor,
                  (managed->flags & kReadOnly) != 0);
}

// take_dlpack(capsule) -> (what keeps the memory, address, type code, bits,
// lanes, shape, strides or None, device type, device, read-only)
PyObject* TakeDlpack(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kName<DLManagedTensorVersioned>) != 0) {
    return TakeVersioned(capsule);
  }
  auto* const managed = static_cast<DLManagedTensor*>(
      PyCapsule_GetPointer(capsule, kName<DLManagedTensor>));
  if (managed == nullptr) return nullptr;
  return ToResult(Take(capsule, managed), managed->tensor, false);
}

uint64_t AddressOf(const BytesToRead& bytes) {
  return reinterpret_cast<uintptr_t>(bytes.data);
}

PyMethodDef functions[] = {
    Function<"make_dlpack", MakeDlpack, "owner", "address", "device type",
             "device", "type code", "bits", "shape", "strides", "is_versioned",
             "is_read_only">(),
    Function<"take_dlpack", TakeDlpack, "capsule">(),
    Function<"address_of", kQuick<AddressOf>, "object">(),
    {},
};

}  // namespace

bool AddDlpack(PyObject* module) {
  return PyModule_AddFunctions(module, functions) == 0 &&
         AddDlpackExchange(module);
}

}  // namespace holdfast::python
