// SPDX-License-Identifier: Apache-2.0
//
// The module itself, and what all of its files use.
#include <pthread.h>

#include <atomic>

#include "client/python/native/array_bytes.h"
#include "client/python/native/dlpack.h"
#include "client/python/native/fault.h"
#include "client/python/native/graph/graph.h"
#include "client/python/native/method.h"
#include "client/python/native/native.h"
#include "client/python/native/ordinary_memory.h"

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

void SetExceptionFactory(PyObject* function) {
  Py_INCREF(function);
  Py_XDECREF(make_exception);
  make_exception = function;
}

// From now on a fork matters.
void NoteConnection() {
  if (!connected.exchange(true)) {
    pthread_atfork(nullptr, nullptr, [] { forked = true; });
  }
}

PyMethodDef functions[] = {
    Function<"set_exception_factory", kQuick<SetExceptionFactory>,
             "function">(),
    Function<"note_connection", kQuick<NoteConnection>>(),
    Function<"set_quiet_thread", kQuick<hf_set_quiet_thread>, "quiet">(),
    {},
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

PyObject* RaiseOfLaunch(hf_error* error) {
  if (hf_error_code(error) != HF_INVALID_ARGUMENT) return Raise(error);
  if (PyErr_Occurred() == nullptr) {
    PyErr_SetString(PyExc_ValueError, hf_error_message(error));
  }
  hf_error_free(error);
  return nullptr;
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

void FreeSelf(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
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
