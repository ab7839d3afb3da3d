// SPDX-License-Identifier: Apache-2.0
#include "client/python/native/array_bytes.h"

#include <cstring>
#include <memory>

#include "client/python/native/method.h"

namespace holdfast::python {
namespace {

// What is wrong with elements.
enum class Defect { kNone, kObject, kPointer, kOrder };

// The formats of the module struct whose elements have several bytes.
constexpr char kWide[] = "hHiIlLqQnNefdguw";

bool IsComplex(const char* format) {
  return format[0] == 'Z' && format[1] != '\0' &&
         std::strchr("fdg", format[1]) != nullptr;
}

// Reads a format of PEP 3118, "<f" or "T{>f:a:=q:b:}".
Defect FindDefect(const char* format) {
  bool is_swapped = false;
  for (; *format != '\0'; ++format) {
    switch (*format) {
      case ':':  // a field's name, up to the next colon
        format = std::strchr(format + 1, ':');
        if (format == nullptr) return Defect::kNone;
        break;
      case '>':
      case '!':
        is_swapped = true;
        break;
      case '<':
      case '=':
      case '@':
      case '^':
        is_swapped = false;
        break;
      case 'O':
        return Defect::kObject;
      case '&':
      case 'X':
      case 'z':
        return Defect::kPointer;
      case 'Z':  // a complex number; else a pointer of ctypes
        if (!IsComplex(format)) return Defect::kPointer;
        break;
      default:
        if (is_swapped && std::strchr(kWide, *format) != nullptr) {
          return Defect::kOrder;
        }
    }
  }
  return Defect::kNone;
}

bool IsContiguous(const Py_buffer& view) {
  Py_ssize_t expected = view.itemsize;
  for (int axis = view.ndim - 1; axis >= 0; --axis) {
    if (view.shape[axis] == 0) return true;
    if (view.shape[axis] != 1 && view.strides[axis] != expected) return false;
    expected *= view.shape[axis];
  }
  return true;
}

bool CheckContiguous(const Py_buffer& view) {
  if (view.strides == nullptr || IsContiguous(view)) return true;
  PyErr_SetString(PyExc_ValueError,
                  "the array is not C-contiguous: numpy.ascontiguousarray "
                  "makes a copy that is");
  return false;
}

// The object that array_bytes returns: the bytes, by the buffer protocol.
struct Exporter {
  PyObject_HEAD ArrayBytes* bytes;
};

ArrayBytes& BytesOf(PyObject* self) {
  return *reinterpret_cast<Exporter*>(self)->bytes;
}

PyTypeObject* exporter_type = nullptr;

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const ArrayBytes& bytes = BytesOf(self);
  return PyBuffer_FillInfo(view, self, bytes.data(), bytes.size(),
                           bytes.readonly() ? 1 : 0, flags);
}

void DeallocExporter(PyObject* self) {
  delete reinterpret_cast<Exporter*>(self)->bytes;
  FreeSelf(self);
}

// -> memoryview of the array's bytes
PyObject* MakeView(PyObject* array, bool writable) {
  using Access = ArrayBytes::Access;
  auto bytes = std::make_unique<ArrayBytes>(
      array, writable ? Access::kWrite : Access::kRead);
  if (!*bytes) return nullptr;
  const Ref exporter(NewObject(exporter_type));
  if (!exporter) return nullptr;
  reinterpret_cast<Exporter*>(exporter.get())->bytes = bytes.release();
  return PyMemoryView_FromObject(exporter.get());
}

PyMethodDef functions[] = {
    Function<"array_bytes", MakeView, "array", "writable">(),
    {},
};

}  // namespace

bool CheckElements(const Py_buffer& view) {
  if (view.format == nullptr) return true;  // bytes
  switch (FindDefect(view.format)) {
    case Defect::kNone:
      return true;
    case Defect::kObject:
      PyErr_Format(PyExc_TypeError,
                   "elements of type %s are Python objects, which a device "
                   "cannot have: convert the array, array.astype(dtype)",
                   view.format);
      return false;
    case Defect::kPointer:
      PyErr_Format(PyExc_TypeError,
                   "elements of type %s have pointers into this process, which "
                   "a device cannot follow",
                   view.format);
      return false;
    case Defect::kOrder:
      PyErr_Format(PyExc_ValueError,
                   "elements of type %s have their bytes in the other order "
                   "than the device: convert the array, "
                   "array.astype(array.dtype.newbyteorder('='))",
                   view.format);
      return false;
  }
  return false;
}

ArrayBytes::ArrayBytes(PyObject* object, Access access) {
  is_held_ =
      PyObject_GetBuffer(object, &view_, PyBUF_STRIDES | PyBUF_FORMAT) == 0;
  is_right_ = is_held_ && CheckElements(view_) && CheckContiguous(view_);
  if (is_right_ && access == Access::kWrite && view_.readonly != 0) {
    PyErr_SetString(PyExc_BufferError,
                    "a writable array is needed, this one is read-only");
    is_right_ = false;
  }
}

bool AddArrayBytes(PyObject* module) {
  return AddType(module,
                 {.name = "holdfast._native.ArrayBytes",
                  .dealloc = DeallocExporter,
                  .size = sizeof(Exporter),
                  .get_buffer = GetBuffer},
                 &exporter_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
