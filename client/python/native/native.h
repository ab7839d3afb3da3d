// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of holdfast._native, the extension between the package
// holdfast and holdfast.h. It uses only CPython's stable ABI, so that one build
// serves every CPython from 3.10.
//
// Each of its types owns one object of holdfast.h and is the base of a class of
// the package, so that fast calls (launch) reach the object without looking up
// an attribute.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_NATIVE_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_NATIVE_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <utility>
#include <vector>

#include "client/c/holdfast.h"
#include "client/python/native/buffer_protocol.h"

namespace holdfast::python {

// An owned reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* object) : object_(object) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// Releases the GIL while it lives. Waits of this thread end if a signal handler
// raises an exception.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Sets the Python exception for `error`, frees it, and returns null. An
// exception that a signal handler has set stays.
PyObject* Raise(hf_error* error);
// Returns None, or null with the exception for `error`.
PyObject* NoneOrRaise(hf_error* error);

// The same for a launch that was not submitted: arguments that the client
// refuses raise ValueError.
PyObject* RaiseOfLaunch(hf_error* error);

// Returns the text as a str, and frees it.
PyObject* TakeText(hf_text* text);

// Returns false, with an exception, if the process was forked from one that
// uses Holdfast.
bool CheckNotForked();
bool IsForked();

// A Python object that owns one object of holdfast.h. All members are guarded
// by the GIL.
template <typename H>
struct Handle {
  PyObject_HEAD H* object;
  // The number of calls that use `object` without the GIL. The last one frees
  // it if it was closed meanwhile.
  Py_ssize_t users;
  bool closed;
};

// Keeps a handle's object alive for one call. Null, with an exception, if the
// handle was closed or never got an object.
template <typename H, void (*Free)(H*)>
class Use {
 public:
  explicit Use(PyObject* self) : handle_(reinterpret_cast<Handle<H>*>(self)) {
    if (!CheckNotForked()) return;
    if (handle_->closed || handle_->object == nullptr) {
      PyErr_Format(PyExc_RuntimeError, "this %R is closed", Py_TYPE(self));
      return;
    }
    ++handle_->users;
    object_ = handle_->object;
  }
  ~Use() {
    if (object_ == nullptr) return;
    if (--handle_->users == 0 && handle_->closed) {
      Free(std::exchange(handle_->object, nullptr));
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  H* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Handle<H>* handle_;
  H* object_ = nullptr;
};

// Marks the handle closed. Returns the object if the caller must free it now.
template <typename H>
H* TakeToClose(PyObject* self) {
  auto* const handle = reinterpret_cast<Handle<H>*>(self);
  handle->closed = true;
  if (handle->users > 0 || IsForked()) return nullptr;
  return std::exchange(handle->object, nullptr);
}

template <typename H, void (*Free)(H*)>
void Dealloc(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  if (H* const object = TakeToClose<H>(self)) Free(object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

// Frees the object now, without the GIL.
template <typename H, void (*Free)(H*)>
PyObject* Close(PyObject* self, PyObject*) {
  if (H* const object = TakeToClose<H>(self)) {
    const WithoutGil released;
    Free(object);
  }
  Py_RETURN_NONE;
}

template <typename H>
PyObject* IsClosed(PyObject* self, void*) {
  const auto* const handle = reinterpret_cast<Handle<H>*>(self);
  return PyBool_FromLong(handle->closed || handle->object == nullptr);
}

// Gives an empty handle its object. A handle that has one keeps it, and
// RuntimeError is set.
template <typename H, void (*Free)(H*)>
PyObject* Adopt(PyObject* self, H* object) {
  auto* const handle = reinterpret_cast<Handle<H>*>(self);
  if (handle->object != nullptr) {
    Free(object);
    PyErr_SetString(PyExc_RuntimeError, "this object was made already");
    return nullptr;
  }
  handle->object = object;
  handle->closed = false;
  Py_RETURN_NONE;
}

using UseDaemon = Use<hf_daemon, hf_daemon_free>;
using UseSession = Use<hf_session, hf_session_free>;
using UseStream = Use<hf_stream, hf_stream_free>;
using UseEvent = Use<hf_event, hf_event_free>;
using UseBuffer = Use<hf_buffer, hf_buffer_free>;
using UseArena = Use<hf_arena, hf_arena_free>;
using UseObject = Use<hf_object, hf_object_free>;
using UseModule = Use<hf_module, hf_module_free>;
using UseKernel = Use<hf_kernel, hf_kernel_free>;

extern PyTypeObject* daemon_type;
extern PyTypeObject* session_type;
extern PyTypeObject* stream_type;
extern PyTypeObject* event_type;
extern PyTypeObject* buffer_type;
extern PyTypeObject* arena_type;
extern PyTypeObject* span_type;
// Returns the span of an object of span_type. Borrowed.
hf_span* SpanOf(PyObject* span);
extern PyTypeObject* object_type;
extern PyTypeObject* module_type;
extern PyTypeObject* kernel_type;
extern PyTypeObject* config_type;

// Each adds its types and functions to the module; false, with an exception.
bool AddSession(PyObject* module);
bool AddStream(PyObject* module);
bool AddBuffer(PyObject* module);
bool AddHostMemory(PyObject* module);
bool AddCompile(PyObject* module);
bool AddLaunch(PyObject* module);

// Makes a type and adds it under the last part of its name.
bool AddType(PyObject* module, PyType_Spec* spec, PyTypeObject** type);

// A new, empty object of one of the types above.
PyObject* NewObject(PyTypeObject* type);

// Returns a new Python object of `type` that owns `object`; null, with an
// exception, if there is no memory for one.
template <typename H, void (*Free)(H*)>
PyObject* Wrap(PyTypeObject* type, H* object) {
  PyObject* const self = NewObject(type);
  if (self == nullptr) {
    Free(object);
    return nullptr;
  }
  reinterpret_cast<Handle<H>*>(self)->object = object;
  return self;
}

// True if `object` is of the type; else TypeError names `what`.
bool CheckType(PyObject* object, PyTypeObject* type, const char* what);

// Converts a tuple of str. Returns false with an exception if it is none.
bool ToStrings(PyObject* tuple, std::vector<std::string>* strings);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_NATIVE_H_
