// SPDX-License-Identifier: Apache-2.0
//
// Tokens for other sessions, semaphores, and buffers mapped in this process.
#include "client/python/native/sharing.h"

#include <algorithm>
#include <array>

#include "client/python/native/native.h"
#include "client/python/native/number.h"

namespace holdfast::python {
namespace {

PyTypeObject* semaphore_type = nullptr;
PyTypeObject* mapping_type = nullptr;

using UseSemaphore = Use<hf_semaphore, hf_semaphore_free>;
using UseMapping = Use<hf_mapping, hf_mapping_free>;
using Token = std::array<uint8_t, HF_TOKEN_BYTES>;

// The token in a bytes object of this size; false, with an exception.
bool ToToken(const char* data, Py_ssize_t size, Token* token) {
  if (size != HF_TOKEN_BYTES) {
    PyErr_Format(PyExc_ValueError, "a token of %zd bytes expected, got %zd",
                 static_cast<Py_ssize_t>(HF_TOKEN_BYTES), size);
    return false;
  }
  std::copy(data, data + size, token->begin());
  return true;
}

// The arguments of an export: (writable, offset, size, session, lifetime,
// imports[, tenant]). The options refer to them.
bool ToExportOptions(PyObject* arguments, hf_export_options* options) {
  int writable = 0;
  Number<uint64_t> offset("offset");
  Number<uint64_t> size("size");
  Seconds lifetime("lifetime");
  Number<uint32_t> imports("imports");
  if (!PyArg_ParseTuple(arguments, "pO&O&sO&O&|s", &writable, ToNumber, &offset,
                        ToNumber, &size, &options->session_id, ToSeconds,
                        &lifetime, ToNumber, &imports, &options->tenant)) {
    return false;
  }
  options->writable = writable != 0;
  options->offset = offset;
  options->size = size;
  options->lifetime = lifetime;
  options->max_imports = imports;
  return true;
}

PyObject* ToBytes(const Token& token) {
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(token.data()),
                                   static_cast<Py_ssize_t>(token.size()));
}

// _create(session, device, initial value)
PyObject* Create(PyObject* self, PyObject* arguments) {
  PyObject* in = nullptr;
  Number<uint32_t> device("device");
  Number<uint64_t> value("value");
  if (!PyArg_ParseTuple(arguments, "OO&O&", &in, ToNumber, &device, ToNumber,
                        &value) ||
      !CheckType(in, session_type, "a Session")) {
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  hf_semaphore* semaphore = nullptr;
  hf_error* const error =
      hf_semaphore_create(session.get(), device, value, &semaphore);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_semaphore, hf_semaphore_free>(self, semaphore);
}

// _import(session, device, token)
PyObject* Import(PyObject* self, PyObject* arguments) {
  PyObject* in = nullptr;
  Number<uint32_t> device("device");
  const char* data = nullptr;
  Py_ssize_t size = 0;
  Token token;
  if (!PyArg_ParseTuple(arguments, "OO&y#", &in, ToNumber, &device, &data,
                        &size) ||
      !CheckType(in, session_type, "a Session") ||
      !ToToken(data, size, &token)) {
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  hf_semaphore* semaphore = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error =
        hf_semaphore_import(session.get(), device, token.data(), &semaphore);
  }
  if (error != nullptr) return Raise(error);
  return Adopt<hf_semaphore, hf_semaphore_free>(self, semaphore);
}

PyObject* Export(PyObject* self, PyObject* arguments) {
  hf_export_options options = HF_EXPORT_OPTIONS_INIT;
  if (!ToExportOptions(arguments, &options)) return nullptr;
  const UseSemaphore semaphore(self);
  if (!semaphore) return nullptr;
  Token token;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_semaphore_export(semaphore.get(), &options, token.data());
  }
  return error != nullptr ? Raise(error) : ToBytes(token);
}

// _signal(value, stream or None)
PyObject* Signal(PyObject* self, PyObject* arguments) {
  Number<uint64_t> value("value");
  PyObject* on = nullptr;
  if (!PyArg_ParseTuple(arguments, "O&O", ToNumber, &value, &on))
    return nullptr;
  const UseSemaphore semaphore(self);
  if (!semaphore) return nullptr;
  if (on == Py_None) {
    return NoneOrRaise(hf_semaphore_signal(semaphore.get(), value, nullptr));
  }
  if (!CheckType(on, stream_type, "a Stream")) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  return NoneOrRaise(hf_semaphore_signal(semaphore.get(), value, stream.get()));
}

// _wait(value, stream)
PyObject* Wait(PyObject* self, PyObject* arguments) {
  Number<uint64_t> value("value");
  PyObject* on = nullptr;
  if (!PyArg_ParseTuple(arguments, "O&O", ToNumber, &value, &on) ||
      !CheckType(on, stream_type, "a Stream")) {
    return nullptr;
  }
  const UseSemaphore semaphore(self);
  if (!semaphore) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  return NoneOrRaise(hf_semaphore_wait(semaphore.get(), value, stream.get()));
}

PyObject* Value(PyObject* self, PyObject*) {
  const UseSemaphore semaphore(self);
  if (!semaphore) return nullptr;
  uint64_t value = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_semaphore_value(semaphore.get(), &value);
  }
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLongLong(value);
}

PyObject* SemaphoreHandle(PyObject* self, void*) {
  const UseSemaphore semaphore(self);
  return semaphore
             ? PyLong_FromUnsignedLongLong(hf_semaphore_handle(semaphore.get()))
             : nullptr;
}

PyMethodDef semaphore_methods[] = {
    {"_create", Create, METH_VARARGS, nullptr},
    {"_import", Import, METH_VARARGS, nullptr},
    {"_export", Export, METH_VARARGS, nullptr},
    {"_signal", Signal, METH_VARARGS, nullptr},
    {"_wait", Wait, METH_VARARGS, nullptr},
    {"_value", Value, METH_NOARGS, nullptr},
    {"_close", Close<hf_semaphore, hf_semaphore_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef semaphore_properties[] = {
    {"_handle", SemaphoreHandle, nullptr, nullptr, nullptr},
    {"_closed", IsClosed<hf_semaphore>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot semaphore_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_semaphore, hf_semaphore_free>)},
    {Py_tp_methods, semaphore_methods},
    {Py_tp_getset, semaphore_properties},
    {0, nullptr},
};

PyType_Spec semaphore_spec = {
    "holdfast._native.Semaphore", sizeof(Handle<hf_semaphore>), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, semaphore_slots};

PyObject* ToMapping(hf_mapping* mapping) {
  PyObject* const self = NewObject(mapping_type);
  if (self == nullptr) {
    hf_mapping_free(mapping);
    return nullptr;
  }
  reinterpret_cast<Handle<hf_mapping>*>(self)->object = mapping;
  return self;
}

// map_locally(buffer, writable, driver, device) -> Mapping
PyObject* MapLocally(PyObject*, PyObject* arguments) {
  PyObject* of = nullptr;
  int writable = 0;
  hf_mapping_options options = HF_MAPPING_OPTIONS_INIT;
  if (!PyArg_ParseTuple(arguments, "Opzi", &of, &writable, &options.driver,
                        &options.device) ||
      !CheckType(of, buffer_type, "a Buffer")) {
    return nullptr;
  }
  options.writable = writable != 0;
  const UseBuffer buffer(of);
  if (!buffer) return nullptr;
  hf_mapping* mapping = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_mapping_create(buffer.get(), &options, &mapping);
  }
  return error != nullptr ? Raise(error) : ToMapping(mapping);
}

// map_semaphore(semaphore, writable, driver, device) -> Mapping
PyObject* MapSemaphore(PyObject*, PyObject* arguments) {
  PyObject* of = nullptr;
  int writable = 0;
  hf_mapping_options options = HF_MAPPING_OPTIONS_INIT;
  if (!PyArg_ParseTuple(arguments, "Opzi", &of, &writable, &options.driver,
                        &options.device) ||
      !CheckType(of, semaphore_type, "a Semaphore")) {
    return nullptr;
  }
  hf_export_options terms = HF_EXPORT_OPTIONS_INIT;
  terms.writable = writable != 0;
  const UseSemaphore semaphore(of);
  if (!semaphore) return nullptr;
  hf_local_export memory;
  hf_mapping* mapping = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_semaphore_export_local(semaphore.get(), &terms, &memory);
    if (error == nullptr) error = hf_mapping_open(&memory, &options, &mapping);
  }
  return error != nullptr ? Raise(error) : ToMapping(mapping);
}

PyObject* MappingSleep(PyObject* self, PyObject*) {
  const UseMapping mapping(self);
  if (!mapping) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_mapping_sleep(mapping.get());
  }
  return NoneOrRaise(error);
}

// wake(Buffer): maps its memory, for reading, where the mapping was
PyObject* MappingWake(PyObject* self, PyObject* of) {
  if (!CheckType(of, buffer_type, "a Buffer")) return nullptr;
  const UseMapping mapping(self);
  if (!mapping) return nullptr;
  const UseBuffer buffer(of);
  if (!buffer) return nullptr;
  const hf_export_options terms = HF_EXPORT_OPTIONS_INIT;
  hf_local_export memory;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_buffer_export_local(buffer.get(), &terms, &memory);
    if (error == nullptr) error = hf_mapping_wake(mapping.get(), &memory);
  }
  return NoneOrRaise(error);
}

PyObject* Pointer(PyObject* self, void*) {
  const UseMapping mapping(self);
  return mapping
             ? PyLong_FromUnsignedLongLong(hf_mapping_pointer(mapping.get()))
             : nullptr;
}

PyMethodDef mapping_methods[] = {
    {"sleep", MappingSleep, METH_NOARGS, nullptr},
    {"wake", MappingWake, METH_O, nullptr},
    {"close", Close<hf_mapping, hf_mapping_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef mapping_properties[] = {
    {"pointer", Pointer, nullptr, nullptr, nullptr},
    {"closed", IsClosed<hf_mapping>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot mapping_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_mapping, hf_mapping_free>)},
    {Py_tp_methods, mapping_methods},
    {Py_tp_getset, mapping_properties},
    {0, nullptr},
};

PyType_Spec mapping_spec = {"holdfast._native.Mapping",
                            sizeof(Handle<hf_mapping>), 0, Py_TPFLAGS_DEFAULT,
                            mapping_slots};

PyMethodDef functions[] = {
    {"map_locally", MapLocally, METH_VARARGS, nullptr},
    {"map_semaphore", MapSemaphore, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* AllocateShared(PyObject* self, PyObject* arguments) {
  PyObject* in = nullptr;
  Number<uint32_t> device("device");
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "OO&O&", &in, ToNumber, &device, ToNumber,
                        &size) ||
      !CheckType(in, session_type, "a Session")) {
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* const error =
      hf_buffer_allocate_shared(session.get(), device, size, &buffer);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(self, buffer);
}

PyObject* AllocateIpc(PyObject* self, PyObject* arguments) {
  PyObject* in = nullptr;
  Number<uint32_t> device("device");
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "OO&O&", &in, ToNumber, &device, ToNumber,
                        &size) ||
      !CheckType(in, session_type, "a Session")) {
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* const error =
      hf_buffer_allocate_ipc(session.get(), device, size, &buffer);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(self, buffer);
}

PyObject* BufferIpcHandle(PyObject* self, PyObject*) {
  const UseBuffer buffer(self);
  if (!buffer) return nullptr;
  hf_ipc_memory memory;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_buffer_ipc_handle(buffer.get(), &memory);
  }
  if (error != nullptr) return Raise(error);
  return Py_BuildValue("(y#K)", memory.handle,
                       static_cast<Py_ssize_t>(HF_IPC_HANDLE_BYTES),
                       static_cast<unsigned long long>(memory.offset));
}

PyObject* ImportPool(PyObject* self, PyObject* arguments) {
  PyObject* in = nullptr;
  Number<uint32_t> device("device");
  int fd = -1;
  const char* data = nullptr;
  Py_ssize_t data_size = 0;
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "OO&iy#O&", &in, ToNumber, &device, &fd,
                        &data, &data_size, ToNumber, &size) ||
      !CheckType(in, session_type, "a Session")) {
    return nullptr;
  }
  if (data_size != HF_IPC_HANDLE_BYTES) {
    PyErr_Format(PyExc_ValueError,
                 "%d bytes of a pool's pointer expected, got "
                 "%zd",
                 HF_IPC_HANDLE_BYTES, data_size);
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_buffer_import_pool(session.get(), device, fd,
                                  reinterpret_cast<const uint8_t*>(data), size,
                                  &buffer);
  }
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(self, buffer);
}

PyObject* ImportBuffer(PyObject* self, PyObject* arguments) {
  PyObject* in = nullptr;
  Number<uint32_t> device("device");
  const char* data = nullptr;
  Py_ssize_t size = 0;
  Token token;
  if (!PyArg_ParseTuple(arguments, "OO&y#", &in, ToNumber, &device, &data,
                        &size) ||
      !CheckType(in, session_type, "a Session") ||
      !ToToken(data, size, &token)) {
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_buffer_import(session.get(), device, token.data(), &buffer);
  }
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(self, buffer);
}

PyObject* ImportLocalBuffer(PyObject* self, PyObject* arguments) {
  PyObject* in = nullptr;
  Number<uint32_t> device("device");
  Number<uint64_t> pointer("ptr");
  Number<uint64_t> size("size");
  hf_mapping_options options = HF_MAPPING_OPTIONS_INIT;
  if (!PyArg_ParseTuple(arguments, "OO&O&O&zi", &in, ToNumber, &device,
                        ToNumber, &pointer, ToNumber, &size, &options.driver,
                        &options.device) ||
      !CheckType(in, session_type, "a Session")) {
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_buffer_import_local(session.get(), device, pointer, size,
                                   &options, &buffer);
  }
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(self, buffer);
}

PyObject* ExportBuffer(PyObject* self, PyObject* arguments) {
  hf_export_options options = HF_EXPORT_OPTIONS_INIT;
  if (!ToExportOptions(arguments, &options)) return nullptr;
  const UseBuffer buffer(self);
  if (!buffer) return nullptr;
  Token token;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_buffer_export(buffer.get(), &options, token.data());
  }
  return error != nullptr ? Raise(error) : ToBytes(token);
}

PyObject* RevokeExport(PyObject* self, PyObject* bytes) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  Token token;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0 ||
      !ToToken(data, size, &token)) {
    return nullptr;
  }
  const UseSession session(self);
  if (!session) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_session_revoke_export(session.get(), token.data());
  }
  return NoneOrRaise(error);
}

bool AddSharing(PyObject* module) {
  return AddType(module, &semaphore_spec, &semaphore_type) &&
         AddType(module, &mapping_spec, &mapping_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
