// SPDX-License-Identifier: Apache-2.0
//
// The module itself, and what all of its files use.
#include <pthread.h>

#include <atomic>

#include "client/python/native/array_bytes.h"
#include "client/python/native/collection.h"
#include "client/python/native/dlpack.h"
#include "client/python/native/fault.h"
#include "client/python/native/graph/graph.h"
#include "client/python/native/native.h"
#include "client/python/native/number.h"
#include "client/python/native/ordinary_memory.h"
#include "client/python/native/place.h"
#include "client/python/native/sharing.h"

namespace holdfast::python {
namespace {

// In a child of fork(): gRPC's threads and locks are not usable there.
std::atomic<bool> forked = false;
// Whether a daemon was connected, so that a fork matters.
std::atomic<bool> connected = false;

// A function of the package: (code, message, call, result, result name,
// explanation, log, session lost, fault or None) -> exception.
PyObject* make_exception = nullptr;

// The wait hook: false if a signal handler raised. Called without the GIL.
bool KeepWaiting() {
  const PyGILState_STATE state = PyGILState_Ensure();
  const bool keep = PyErr_CheckSignals() == 0;
  PyGILState_Release(state);
  return keep;
}

PyObject* SetExceptionFactory(PyObject*, PyObject* function) {
  Py_INCREF(function);
  Py_XDECREF(make_exception);
  make_exception = function;
  Py_RETURN_NONE;
}

// From now on a fork matters.
PyObject* NoteConnection(PyObject*, PyObject*) {
  if (!connected.exchange(true)) {
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
  }
  Py_RETURN_NONE;
}

// set_quiet_thread(quiet)
PyObject* SetQuietThread(PyObject*, PyObject* quiet) {
  hf_set_quiet_thread(PyObject_IsTrue(quiet) == 1);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"set_exception_factory", SetExceptionFactory, METH_O, nullptr},
    {"note_connection", NoteConnection, METH_NOARGS, nullptr},
    {"set_quiet_thread", SetQuietThread, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "holdfast._native",
    "The package's way to libholdfast.so. Not for direct use.",
    -1,
    functions,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace

WithoutGil::WithoutGil() {
  thread_local bool hooked = false;
  if (!hooked) {
    hf_set_wait_hook(KeepWaiting);
    hooked = true;
  }
  state_ = PyEval_SaveThread();
}

PyObject* Raise(hf_error* error) {
  if (PyErr_Occurred() == nullptr) {
    const Ref exception(PyObject_CallFunction(
        make_exception, "isssissNN", static_cast<int>(hf_error_code(error)),
        hf_error_message(error), hf_error_call(error),
        hf_error_result_name(error), static_cast<int>(hf_error_result(error)),
        hf_error_explanation(error), hf_error_log(error),
        PyBool_FromLong(hf_error_session_lost(error)), FaultOf(error)));
    if (exception) {
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())),
                      exception.get());
    }
  }
  hf_error_free(error);
  return nullptr;
}

PyObject* NoneOrRaise(hf_error* error) {
  if (error != nullptr) return Raise(error);
  Py_RETURN_NONE;
}

PyObject* RaiseOfLaunch(hf_error* error) {
  if (hf_error_code(error) != HF_INVALID_ARGUMENT) return Raise(error);
  if (PyErr_Occurred() == nullptr) {
    PyErr_SetString(PyExc_ValueError, hf_error_message(error));
  }
  hf_error_free(error);
  return nullptr;
}

PyObject* TakeText(hf_text* text) {
  PyObject* const string = PyUnicode_FromStringAndSize(
      hf_text_data(text), static_cast<Py_ssize_t>(hf_text_size(text)));
  hf_text_free(text);
  return string;
}

bool IsForked() { return forked.load(std::memory_order_relaxed); }

bool CheckNotForked() {
  if (!IsForked()) return true;
  PyErr_SetString(PyExc_RuntimeError,
                  "this process was forked from one that is connected to a "
                  "Holdfast daemon, and cannot use it: start processes with "
                  "multiprocessing's \"spawn\" method, or connect after the "
                  "fork only");
  return false;
}

bool AddType(PyObject* module, PyType_Spec* spec, PyTypeObject** type) {
  *type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(spec));
  return *type != nullptr && PyModule_AddType(module, *type) == 0;
}

PyObject* NewObject(PyTypeObject* type) {
  return reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type,
                                                                        0);
}

bool CheckType(PyObject* object, PyTypeObject* type, const char* what) {
  if (PyObject_TypeCheck(object, type)) return true;
  PyErr_Format(PyExc_TypeError, "%s expected, got %R", what, Py_TYPE(object));
  return false;
}

bool ToStrings(PyObject* tuple, std::vector<std::string>* strings) {
  const Py_ssize_t count = PySequence_Size(tuple);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(tuple, i));
    const char* const text =
        item ? PyUnicode_AsUTF8AndSize(item.get(), nullptr) : nullptr;
    if (text == nullptr) return false;
    strings->emplace_back(text);
  }
  return true;
}

}  // namespace holdfast::python

PyMODINIT_FUNC PyInit__native() {
  using namespace holdfast::python;  // NOLINT(google-build-using-namespace)
  Ref module(PyModule_Create(&definition));
  if (!module || !AddSession(module.get()) || !AddStream(module.get()) ||
      !AddBuffer(module.get()) || !AddHostMemory(module.get()) ||
      !AddOrdinaryMemory(module.get()) || !AddCompile(module.get()) ||
      !AddLaunch(module.get()) || !AddNodes(module.get()) ||
      !AddDefinitions(module.get()) || !AddCaptures(module.get()) ||
      !AddGraphs(module.get()) || !AddDlpack(module.get()) ||
      !AddSharing(module.get()) || !AddCollections(module.get()) ||
      !AddNumbers(module.get()) || !AddPlaces(module.get()) ||
      !AddArrayBytes(module.get()) ||
      PyModule_AddStringConstant(module.get(), "version", hf_version()) != 0) {
    return nullptr;
  }
  return module.release();
}
