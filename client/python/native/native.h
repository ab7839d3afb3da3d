// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of holdfast._native, the extension between the package
// holdfast and holdfast.h. It uses only CPython's stable ABI, so that one build
// serves every CPython from 3.10.
//
// An object of each of its types owns one object of holdfast.h. Each type is
// the base of a class of the package, so that fast calls (launch) reach the
// object of holdfast.h without looking up an attribute.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_NATIVE_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_NATIVE_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "client/c/holdfast.h"
#include "client/python/native/buffer_protocol.h"

namespace holdfast::python {

// An owned reference to a Python object; may be null.
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

// Releases the GIL while the object lives. If a signal handler raises an
// exception, a wait of holdfast.h in this thread ends.
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
// Does the same for a launch that was not submitted: arguments that the client
// refuses raise ValueError.
PyObject* RaiseOfLaunch(hf_error* error);

// Returns false, with an exception, if the process was forked from a process
// that uses Holdfast.
bool CheckNotForked();
bool IsForked();

// A string as a template argument.
template <size_t kSize>
struct Name {
  // NOLINTNEXTLINE(google-explicit-constructor): it is given as a literal.
  consteval Name(const char (&literal)[kSize]) {
    std::copy_n(literal, kSize, text);
  }

  char text[kSize];
};

// The Python class whose objects own an H of holdfast.h: its type (set when it
// is added to the module), its name in messages, and the function that frees an
// H.
template <typename H>
struct Class;

template <typename H, void (*kFree)(H*), Name kName>
struct ClassOf {
  static inline PyTypeObject* type = nullptr;
  static constexpr const char* name = kName.text;
  static void Free(H* object) { kFree(object); }
};

#define HOLDFAST_PYTHON_CLASS(object, name) \
  template <>                               \
  struct Class<object> : ClassOf<object, object##_free, name> {}

HOLDFAST_PYTHON_CLASS(hf_daemon, "a Daemon");
HOLDFAST_PYTHON_CLASS(hf_session, "a Session");
HOLDFAST_PYTHON_CLASS(hf_stream, "a Stream");
HOLDFAST_PYTHON_CLASS(hf_event, "an Event");
HOLDFAST_PYTHON_CLASS(hf_buffer, "a Buffer");
HOLDFAST_PYTHON_CLASS(hf_arena, "an Arena");
HOLDFAST_PYTHON_CLASS(hf_span, "a Span");
HOLDFAST_PYTHON_CLASS(hf_object, "an Object");
HOLDFAST_PYTHON_CLASS(hf_compilation, "a Compilation");
HOLDFAST_PYTHON_CLASS(hf_module, "a module");
HOLDFAST_PYTHON_CLASS(hf_kernel, "a Kernel");
HOLDFAST_PYTHON_CLASS(hf_node, "a node");
HOLDFAST_PYTHON_CLASS(hf_definition, "a definition");
HOLDFAST_PYTHON_CLASS(hf_capture, "a capture");
HOLDFAST_PYTHON_CLASS(hf_graph, "a graph");
HOLDFAST_PYTHON_CLASS(hf_graph_exec, "a Graph");
HOLDFAST_PYTHON_CLASS(hf_semaphore, "a Semaphore");
HOLDFAST_PYTHON_CLASS(hf_mapping, "a Mapping");
HOLDFAST_PYTHON_CLASS(hf_collection, "a collection");
HOLDFAST_PYTHON_CLASS(hf_collection_writer, "a CollectionWriter");
HOLDFAST_PYTHON_CLASS(hf_write_claim, "a WriteClaim");

#undef HOLDFAST_PYTHON_CLASS

// True for the H of a Class.
template <typename H>
concept Owned = requires {
  Class<std::remove_const_t<H>>::type;
};

// A Python object that owns one object of holdfast.h. All members are guarded
// by the GIL.
template <Owned H>
struct Handle {
  static Handle* Of(PyObject* self) { return reinterpret_cast<Handle*>(self); }

  PyObject_HEAD H* object;
  // The number of calls that use `object` without the GIL. The last of these
  // calls frees `object` if the handle was closed meanwhile.
  Py_ssize_t users;
  bool closed;
};

// Keeps a handle's object alive for one call.
template <Owned H>
class Use {
 public:
  Use() = default;
  ~Use() {
    if (object_ == nullptr) return;
    if (--handle_->users == 0 && handle_->closed) {
      Class<H>::Free(std::exchange(handle_->object, nullptr));
    }
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  // Returns false, with an exception, if the handle was closed or never got an
  // object. REQUIRES: `self` is of the class; called once.
  bool Begin(PyObject* self) {
    if (!CheckNotForked()) return false;
    handle_ = Handle<H>::Of(self);
    if (handle_->closed || handle_->object == nullptr) {
      const Ref name(PyObject_GetAttrString(
          reinterpret_cast<PyObject*>(Py_TYPE(self)), "__name__"));
      if (name) {
        PyErr_Format(PyExc_RuntimeError, "%S has been closed", name.get());
      }
      return false;
    }
    ++handle_->users;
    object_ = handle_->object;
    return true;
  }

  // Keeps the object forever, because an abandoned call still uses it.
  void KeepForever() { ++handle_->users; }

  H* get() const { return object_; }

 private:
  Handle<H>* handle_ = nullptr;
  H* object_ = nullptr;
};

// Marks the handle closed. Returns the object if the caller must free it now;
// null if a call still uses it, if there is none, or in a forked process.
template <Owned H>
H* TakeToClose(PyObject* self) {
  auto* const handle = Handle<H>::Of(self);
  handle->closed = true;
  if (handle->users > 0 || IsForked()) return nullptr;
  return std::exchange(handle->object, nullptr);
}

// Frees the memory of a Python object: the end of each class's Py_tp_dealloc.
void FreeSelf(PyObject* self);

template <Owned H>
void Dealloc(PyObject* self) {
  if (H* const object = TakeToClose<H>(self)) Class<H>::Free(object);
  FreeSelf(self);
}

// Returns a new, empty object of the type; null, with an exception set, if
// there is no memory.
PyObject* NewObject(PyTypeObject* type);

// Gives an empty handle its object, and returns None. If the handle has an
// object already, frees the new object, sets RuntimeError and returns null.
template <Owned H>
PyObject* Adopt(PyObject* self, H* object) {
  auto* const handle = Handle<H>::Of(self);
  if (handle->object != nullptr) {
    Class<H>::Free(object);
    PyErr_SetString(PyExc_RuntimeError, "this object was made already");
    return nullptr;
  }
  handle->object = object;
  handle->closed = false;
  Py_RETURN_NONE;
}

// Returns a new Python object that owns `object`; null, with an exception, if
// there is no memory for one.
template <Owned H>
PyObject* Wrap(H* object) {
  PyObject* const self = NewObject(Class<H>::type);
  if (self == nullptr) {
    Class<H>::Free(object);
    return nullptr;
  }
  Handle<H>::Of(self)->object = object;
  return self;
}

// Each function adds types and functions to the module. Returns false, with an
// exception set, if that fails.
bool AddSession(PyObject* module);
bool AddStream(PyObject* module);
bool AddBuffer(PyObject* module);
bool AddHostMemory(PyObject* module);
bool AddCompile(PyObject* module);
bool AddLaunch(PyObject* module);
bool AddSharing(PyObject* module);
bool AddCollections(PyObject* module);
bool AddNumbers(PyObject* module);
bool AddPlaces(PyObject* module);

// Returns true if `object` is of the type; otherwise sets a TypeError that
// names `what`, and returns false.
bool CheckType(PyObject* object, PyTypeObject* type, const char* what);

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_NATIVE_H_
