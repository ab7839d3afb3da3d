// SPDX-License-Identifier: Apache-2.0
//
// DLPack's exchange interface (its version 1.3): a table of C functions by
// which other libraries take and give views without a call of __dlpack__. It
// calls these methods of the class of views:
//
//   _exported()   a capsule of version 1 that keeps the view
//   _borrowed()   the same without keeping it; the view keeps the capsule
//   _of_capsule   makes a view of a capsule
#include "client/python/native/dlpack.h"
#include "client/python/native/dlpack_structs.h"
#include "client/python/native/method.h"

namespace holdfast::python {
namespace {

// A table of later versions begins with the same header.
struct ExchangeHeader {
  DLPackVersion version;
  ExchangeHeader* previous;
};

using SetError = void (*)(void* context, const char* kind, const char* message);

struct ExchangeApi {
  ExchangeHeader header;
  int (*allocate)(DLTensor* prototype, DLManagedTensorVersioned** out,
                  void* context, SetError set_error);
  int (*managed_from_object)(void* object, DLManagedTensorVersioned** out);
  int (*managed_to_object)(DLManagedTensorVersioned* tensor, void** out);
  int (*tensor_from_object)(void* object, DLTensor* out);
  int (*current_stream)(int32_t device_type, int32_t device, void** out);
};

constexpr const char* kCapsule = kName<DLManagedTensorVersioned>;

// The class of views, which lives as long as the process.
PyObject* view_class = nullptr;

// The tensor of a capsule that the view makes; owned by the capsule.
DLManagedTensorVersioned* TensorOf(void* object, const char* method,
                                   Ref* capsule) {
  auto* const view = static_cast<PyObject*>(object);
  const int is_view =
      view == nullptr ? 0 : PyObject_IsInstance(view, view_class);
  if (is_view < 0) return nullptr;
  if (is_view == 0) {
    PyErr_SetString(PyExc_TypeError, "py_object must be a StridedMemoryView");
    return nullptr;
  }
  *capsule = Ref(PyObject_CallMethod(view, method, nullptr));
  if (!*capsule) return nullptr;
  return static_cast<DLManagedTensorVersioned*>(
      PyCapsule_GetPointer(capsule->get(), kCapsule));
}

int ManagedFromObject(void* object, DLManagedTensorVersioned** out) {
  *out = nullptr;
  Ref capsule;
  auto* const tensor = TensorOf(object, "_exported", &capsule);
  if (tensor == nullptr ||
      PyCapsule_SetName(capsule.get(), kUsedName<DLManagedTensorVersioned>) !=
          0) {
    return -1;
  }
  *out = tensor;
  return 0;
}

int TensorFromObject(void* object, DLTensor* out) {
  Ref capsule;
  const auto* const tensor = TensorOf(object, "_borrowed", &capsule);
  if (tensor == nullptr) return -1;
  *out = tensor->tensor;
  return 0;
}

int ManagedToObject(DLManagedTensorVersioned* tensor, void** out) {
  *out = nullptr;
  if (tensor == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "tensor cannot be NULL");
    return -1;
  }
  const Ref capsule(PyCapsule_New(tensor, kCapsule, nullptr));
  if (!capsule) return -1;
  *out = PyObject_CallMethod(view_class, "_of_capsule", "O", capsule.get());
  return *out == nullptr ? -1 : 0;
}

int Allocate(DLTensor*, DLManagedTensorVersioned** out, void* context,
             SetError set_error) {
  constexpr const char* kMessage =
      "managed_tensor_allocator is not supported: a StridedMemoryView is of "
      "memory that is there";
  if (out != nullptr) *out = nullptr;
  if (set_error != nullptr) {
    set_error(context, "NotImplementedError", kMessage);
  } else {
    PyErr_SetString(PyExc_NotImplementedError, kMessage);
  }
  return -1;
}

// No stream of this process is current.
int CurrentStream(int32_t, int32_t, void** out) {
  *out = nullptr;
  return 0;
}

ExchangeApi api = {{{1, 3}, nullptr}, Allocate,         ManagedFromObject,
                   ManagedToObject,   TensorFromObject, CurrentStream};

// dlpack_exchange_api(class of views) -> the capsule for its attribute
// __dlpack_c_exchange_api__
PyObject* MakeCapsule(PyObject* cls) {
  Py_INCREF(cls);
  Py_XDECREF(view_class);
  view_class = cls;
  return PyCapsule_New(&api, "dlpack_exchange_api", nullptr);
}

PyMethodDef functions[] = {
    Function<"dlpack_exchange_api", MakeCapsule, "class">(),
    {},
};

}  // namespace

bool AddDlpackExchange(PyObject* module) {
  return PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
