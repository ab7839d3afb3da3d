// SPDX-License-Identifier: Apache-2.0
//
// Streams and events.
#include <array>

#include "client/python/native/native.h"
#include "client/python/native/number.h"

namespace holdfast::python {

PyTypeObject* stream_type = nullptr;
PyTypeObject* event_type = nullptr;

namespace {

// _create(session, device, priority, blocking)
PyObject* CreateStream(PyObject* self, PyObject* arguments) {
  PyObject* from = nullptr;
  Number<uint32_t> device("device");
  hf_stream_options options = HF_STREAM_OPTIONS_INIT;
  int blocking = 0;
  if (!PyArg_ParseTuple(arguments, "OO&ip", &from, ToNumber, &device,
                        &options.priority, &blocking) ||
      !CheckType(from, session_type, "a Session")) {
    return nullptr;
  }
  options.blocking = blocking != 0;
  const UseSession session(from);
  if (!session) return nullptr;
  hf_stream* stream = nullptr;
  hf_error* const error =
      hf_stream_create(session.get(), device, &options, &stream);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_stream, hf_stream_free>(self, stream);
}

PyObject* StreamHandle(PyObject* self, void*) {
  const UseStream stream(self);
  return stream ? PyLong_FromUnsignedLongLong(hf_stream_handle(stream.get()))
                : nullptr;
}

PyObject* SynchronizeStream(PyObject* self, PyObject*) {
  const UseStream stream(self);
  if (!stream) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_stream_synchronize(stream.get());
  }
  return NoneOrRaise(error);
}

PyObject* IsCapturing(PyObject* self, void*) {
  const UseStream stream(self);
  return stream ? PyBool_FromLong(hf_stream_is_capturing(stream.get()))
                : nullptr;
}

PyObject* StreamIsDone(PyObject* self, PyObject*) {
  const UseStream stream(self);
  if (!stream) return nullptr;
  bool done = false;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_stream_is_done(stream.get(), &done);
  }
  return error != nullptr ? Raise(error) : PyBool_FromLong(done);
}

PyObject* Record(PyObject* self, PyObject* which) {
  if (!CheckType(which, event_type, "an Event")) return nullptr;
  const UseStream stream(self);
  if (!stream) return nullptr;
  const UseEvent event(which);
  if (!event) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_stream_record(stream.get(), event.get());
  }
  return NoneOrRaise(error);
}

// _wait(an Event or a Stream)
PyObject* Wait(PyObject* self, PyObject* other) {
  const UseStream stream(self);
  if (!stream) return nullptr;
  hf_error* error = nullptr;
  if (PyObject_TypeCheck(other, stream_type)) {
    const UseStream first(other);
    if (!first) return nullptr;
    const WithoutGil released;
    error = hf_stream_wait_stream(stream.get(), first.get());
  } else {
    if (!CheckType(other, event_type, "an Event or a Stream")) return nullptr;
    const UseEvent event(other);
    if (!event) return nullptr;
    const WithoutGil released;
    error = hf_stream_wait_event(stream.get(), event.get());
  }
  return NoneOrRaise(error);
}

// _pair(handle or None, driver's path or None, device of this process) ->
// CUstream
PyObject* PairStream(PyObject* self, PyObject* arguments) {
  PyObject* wanted = nullptr;
  hf_mapping_options options = HF_MAPPING_OPTIONS_INIT;
  if (!PyArg_ParseTuple(arguments, "Ozi", &wanted, &options.driver,
                        &options.device)) {
    return nullptr;
  }
  uint64_t handle = 0;
  if (wanted != Py_None) {
    handle = PyLong_AsUnsignedLongLong(wanted);
    if (PyErr_Occurred() != nullptr) return nullptr;
  }
  const UseStream stream(self);
  if (!stream) return nullptr;
  uint64_t paired = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_stream_pair(stream.get(), wanted == Py_None ? nullptr : &handle,
                           &options, &paired);
  }
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLongLong(paired);
}

PyMethodDef stream_methods[] = {
    {"_pair", PairStream, METH_VARARGS, nullptr},
    {"_create", CreateStream, METH_VARARGS, nullptr},
    {"_sync", SynchronizeStream, METH_NOARGS, nullptr},
    {"_is_done", StreamIsDone, METH_NOARGS, nullptr},
    {"_record", Record, METH_O, nullptr},
    {"_wait", Wait, METH_O, nullptr},
    {"_close", Close<hf_stream, hf_stream_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef stream_properties[] = {
    {"_handle", StreamHandle, nullptr, nullptr, nullptr},
    {"_is_capturing", IsCapturing, nullptr, nullptr, nullptr},
    {"_closed", IsClosed<hf_stream>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot stream_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_stream, hf_stream_free>)},
    {Py_tp_methods, stream_methods},
    {Py_tp_getset, stream_properties},
    {0, nullptr},
};

PyType_Spec stream_spec = {"holdfast._native.Stream", sizeof(Handle<hf_stream>),
                           0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           stream_slots};

// _create(session, device, timing, blocking_sync, interprocess)
PyObject* CreateEvent(PyObject* self, PyObject* arguments) {
  PyObject* from = nullptr;
  Number<uint32_t> device("device");
  int timing = 0;
  int blocking = 0;
  int interprocess = 0;
  if (!PyArg_ParseTuple(arguments, "OO&ppp", &from, ToNumber, &device, &timing,
                        &blocking, &interprocess) ||
      !CheckType(from, session_type, "a Session")) {
    return nullptr;
  }
  hf_event_options options = HF_EVENT_OPTIONS_INIT;
  options.timing = timing != 0;
  options.blocking_sync = blocking != 0;
  options.interprocess = interprocess != 0;
  const UseSession session(from);
  if (!session) return nullptr;
  hf_event* event = nullptr;
  hf_error* const error =
      hf_event_create(session.get(), device, &options, &event);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_event, hf_event_free>(self, event);
}

// _import(session, device, token, or an IPC handle)
PyObject* ImportEvent(PyObject* self, PyObject* arguments) {
  PyObject* from = nullptr;
  Number<uint32_t> device("device");
  const char* data = nullptr;
  Py_ssize_t size = 0;
  if (!PyArg_ParseTuple(arguments, "OO&y#", &from, ToNumber, &device, &data,
                        &size) ||
      !CheckType(from, session_type, "a Session")) {
    return nullptr;
  }
  if (size != HF_TOKEN_BYTES && size != HF_IPC_HANDLE_BYTES) {
    PyErr_Format(PyExc_ValueError,
                 "a token of %d bytes or an IPC handle of %d expected, got %zd",
                 HF_TOKEN_BYTES, HF_IPC_HANDLE_BYTES, size);
    return nullptr;
  }
  const UseSession session(from);
  if (!session) return nullptr;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(data);
  hf_event* event = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = size == HF_TOKEN_BYTES
                ? hf_event_import(session.get(), device, bytes, &event)
                : hf_event_import_ipc(session.get(), device, bytes, &event);
  }
  if (error != nullptr) return Raise(error);
  return Adopt<hf_event, hf_event_free>(self, event);
}

// _export(session, lifetime, imports) -> token
PyObject* ExportEvent(PyObject* self, PyObject* arguments) {
  hf_export_options options = HF_EXPORT_OPTIONS_INIT;
  Seconds lifetime("lifetime");
  Number<uint32_t> imports("imports");
  if (!PyArg_ParseTuple(arguments, "sO&O&", &options.session_id, ToSeconds,
                        &lifetime, ToNumber, &imports)) {
    return nullptr;
  }
  options.lifetime = lifetime;
  options.max_imports = imports;
  const UseEvent event(self);
  if (!event) return nullptr;
  std::array<uint8_t, HF_TOKEN_BYTES> token;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_event_export(event.get(), &options, token.data());
  }
  if (error != nullptr) return Raise(error);
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(token.data()),
                                   HF_TOKEN_BYTES);
}

PyObject* EventIpcHandle(PyObject* self, PyObject*) {
  const UseEvent event(self);
  if (!event) return nullptr;
  std::array<uint8_t, HF_IPC_HANDLE_BYTES> handle;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_event_ipc_handle(event.get(), handle.data());
  }
  if (error != nullptr) return Raise(error);
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(handle.data()),
                                   HF_IPC_HANDLE_BYTES);
}

PyObject* EventHandle(PyObject* self, void*) {
  const UseEvent event(self);
  return event ? PyLong_FromUnsignedLongLong(hf_event_handle(event.get()))
               : nullptr;
}

PyObject* SynchronizeEvent(PyObject* self, PyObject*) {
  const UseEvent event(self);
  if (!event) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_event_synchronize(event.get());
  }
  return NoneOrRaise(error);
}

PyObject* EventIsDone(PyObject* self, PyObject*) {
  const UseEvent event(self);
  if (!event) return nullptr;
  bool done = false;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_event_is_done(event.get(), &done);
  }
  return error != nullptr ? Raise(error) : PyBool_FromLong(done);
}

PyObject* ElapsedSince(PyObject* self, PyObject* from) {
  if (!CheckType(from, event_type, "an Event")) return nullptr;
  const UseEvent end(self);
  if (!end) return nullptr;
  const UseEvent start(from);
  if (!start) return nullptr;
  float milliseconds = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_event_elapsed(start.get(), end.get(), &milliseconds);
  }
  return error != nullptr ? Raise(error)
                          : PyFloat_FromDouble(double{milliseconds});
}

PyMethodDef event_methods[] = {
    {"_create", CreateEvent, METH_VARARGS, nullptr},
    {"_import", ImportEvent, METH_VARARGS, nullptr},
    {"_export", ExportEvent, METH_VARARGS, nullptr},
    {"_ipc_handle", EventIpcHandle, METH_NOARGS, nullptr},
    {"_sync", SynchronizeEvent, METH_NOARGS, nullptr},
    {"_is_done", EventIsDone, METH_NOARGS, nullptr},
    {"_elapsed_since", ElapsedSince, METH_O, nullptr},
    {"_close", Close<hf_event, hf_event_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef event_properties[] = {
    {"_handle", EventHandle, nullptr, nullptr, nullptr},
    {"_closed", IsClosed<hf_event>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot event_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(Dealloc<hf_event, hf_event_free>)},
    {Py_tp_methods, event_methods},
    {Py_tp_getset, event_properties},
    {0, nullptr},
};

PyType_Spec event_spec = {"holdfast._native.Event", sizeof(Handle<hf_event>), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                          event_slots};

}  // namespace

bool AddStream(PyObject* module) {
  return AddType(module, &stream_spec, &stream_type) &&
         AddType(module, &event_spec, &event_type);
}

}  // namespace holdfast::python
