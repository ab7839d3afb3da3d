// SPDX-License-Identifier: Apache-2.0
//
// Buffers of the daemon, and addresses in them.
#include <chrono>
#include <thread>

#include "client/python/native/array_bytes.h"
#include "client/python/native/native.h"
#include "client/python/native/number.h"
#include "client/python/native/sharing.h"

namespace holdfast::python {

PyTypeObject* buffer_type = nullptr;

namespace {

// Downloads up to this size can be interrupted while they wait; larger ones
// wait for the stream first, which can.
constexpr Py_ssize_t kInline = 64 << 10;

// _allocate(session, device, size, stream or None); device -1: the host's.
PyObject* Allocate(PyObject* self, PyObject* arguments) {
  PyObject* from = nullptr;
  PyObject* on = nullptr;
  int device = 0;
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "OiO&O", &from, &device, ToNumber, &size,
                        &on) ||
      !CheckType(from, session_type, "a Session")) {
    return nullptr;
  }
  const UseSession session(from);
  if (!session) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* error = nullptr;
  if (device < 0) {
    error = hf_buffer_allocate_host(session.get(), size, &buffer);
  } else if (on == Py_None) {
    error = hf_buffer_allocate(session.get(), static_cast<uint32_t>(device),
                               size, nullptr, &buffer);
  } else {
    if (!CheckType(on, stream_type, "a Stream")) return nullptr;
    const UseStream stream(on);
    if (!stream) return nullptr;
    error = hf_buffer_allocate(session.get(), static_cast<uint32_t>(device),
                               size, stream.get(), &buffer);
  }
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(self, buffer);
}

// _of_graph(session, size): memory that a node will allocate.
PyObject* OfGraph(PyObject* self, PyObject* arguments) {
  PyObject* from = nullptr;
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "OO&", &from, ToNumber, &size) ||
      !CheckType(from, session_type, "a Session")) {
    return nullptr;
  }
  const UseSession session(from);
  if (!session) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* const error = hf_buffer_of_graph(session.get(), size, &buffer);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(self, buffer);
}

// _sub(buffer, offset, size)
PyObject* Sub(PyObject* self, PyObject* arguments) {
  PyObject* of = nullptr;
  Number<uint64_t> offset("offset");
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "OO&O&", &of, ToNumber, &offset, ToNumber,
                        &size) ||
      !CheckType(of, buffer_type, "a Buffer")) {
    return nullptr;
  }
  const UseBuffer whole(of);
  if (!whole) return nullptr;
  hf_buffer* part = nullptr;
  hf_error* const error = hf_buffer_sub(whole.get(), offset, size, &part);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(self, part);
}

// _global(module, name, device)
PyObject* Global(PyObject* self, PyObject* arguments) {
  PyObject* in = nullptr;
  const char* name = nullptr;
  Number<uint32_t> device("device");
  if (!PyArg_ParseTuple(arguments, "OsO&", &in, &name, ToNumber, &device) ||
      !CheckType(in, module_type, "a module")) {
    return nullptr;
  }
  const UseModule module(in);
  if (!module) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_module_global(module.get(), name, device, &buffer);
  }
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(self, buffer);
}

PyObject* Size(PyObject* self, void*) {
  const UseBuffer buffer(self);
  return buffer ? PyLong_FromUnsignedLongLong(hf_buffer_size(buffer.get()))
                : nullptr;
}

PyObject* BufferHandle(PyObject* self, void*) {
  const UseBuffer buffer(self);
  return buffer ? PyLong_FromUnsignedLongLong(hf_buffer_handle(buffer.get()))
                : nullptr;
}

// Waits the first time.
PyObject* BufferAddress(PyObject* self, PyObject*) {
  const UseBuffer buffer(self);
  if (!buffer) return nullptr;
  uint64_t address = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_buffer_address(buffer.get(), &address);
  }
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLongLong(address);
}

// The arguments of a copy between a buffer and this process: (bytes-like,
// offset in the buffer, stream). False, with an exception.
struct Transfer {
  PyObject* array = nullptr;
  Number<uint64_t> offset{"offset"};
  PyObject* on = nullptr;

  bool Parse(PyObject* arguments) {
    return PyArg_ParseTuple(arguments, "OO&O", &array, ToNumber, &offset,
                            &on) != 0 &&
           CheckType(on, stream_type, "a Stream");
  }
};

PyObject* Upload(PyObject* self, PyObject* arguments) {
  Transfer transfer;
  if (!transfer.Parse(arguments)) return nullptr;
  const UseBuffer buffer(self);
  if (!buffer) return nullptr;
  const UseStream stream(transfer.on);
  if (!stream) return nullptr;
  const ArrayBytes bytes(transfer.array, ArrayBytes::Access::kRead);
  if (!bytes) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_buffer_upload(buffer.get(), transfer.offset, bytes.data(),
                             static_cast<uint64_t>(bytes.size()), stream.get());
  }
  return NoneOrRaise(error);
}

PyObject* Download(PyObject* self, PyObject* arguments) {
  Transfer transfer;
  if (!transfer.Parse(arguments)) return nullptr;
  const UseBuffer buffer(self);
  if (!buffer) return nullptr;
  const UseStream stream(transfer.on);
  if (!stream) return nullptr;
  const ArrayBytes bytes(transfer.array, ArrayBytes::Access::kWrite);
  if (!bytes) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    if (bytes.size() > kInline) error = hf_stream_synchronize(stream.get());
    if (error == nullptr) {
      error =
          hf_buffer_download(buffer.get(), transfer.offset, bytes.data(),
                             static_cast<uint64_t>(bytes.size()), stream.get());
    }
  }
  return NoneOrRaise(error);
}

// _copy(offset, source, source offset, size, stream)
PyObject* Copy(PyObject* self, PyObject* arguments) {
  PyObject* from = nullptr;
  PyObject* on = nullptr;
  Number<uint64_t> offset("offset");
  Number<uint64_t> source_offset("source offset");
  Number<uint64_t> size("size");
  if (!PyArg_ParseTuple(arguments, "O&OO&O&O", ToNumber, &offset, &from,
                        ToNumber, &source_offset, ToNumber, &size, &on) ||
      !CheckType(from, buffer_type, "a Buffer") ||
      !CheckType(on, stream_type, "a Stream")) {
    return nullptr;
  }
  const UseBuffer buffer(self);
  if (!buffer) return nullptr;
  const UseBuffer source(from);
  if (!source) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_buffer_copy(buffer.get(), offset, source.get(), source_offset,
                           size, stream.get());
  }
  return NoneOrRaise(error);
}

// _fill(offset, size, pattern, stream)
PyObject* Fill(PyObject* self, PyObject* arguments) {
  PyObject* on = nullptr;
  Number<uint64_t> offset("offset");
  Number<uint64_t> size("size");
  const char* pattern = nullptr;
  Py_ssize_t pattern_size = 0;
  if (!PyArg_ParseTuple(arguments, "O&O&y#O", ToNumber, &offset, ToNumber,
                        &size, &pattern, &pattern_size, &on) ||
      !CheckType(on, stream_type, "a Stream")) {
    return nullptr;
  }
  const UseBuffer buffer(self);
  if (!buffer) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_buffer_fill(buffer.get(), offset, size, pattern,
                           static_cast<size_t>(pattern_size), stream.get());
  }
  return NoneOrRaise(error);
}

// _close(stream or None): freed in the order of that stream.
PyObject* CloseBuffer(PyObject* self, PyObject* on) {
  if (on == Py_None) return Close<hf_buffer, hf_buffer_free>(self, nullptr);
  if (!CheckType(on, stream_type, "a Stream")) return nullptr;
  const UseStream stream(on);
  if (!stream) return nullptr;
  if (hf_buffer* const buffer = TakeToClose<hf_buffer>(self)) {
    const WithoutGil released;
    hf_buffer_free_on(buffer, stream.get());
  }
  Py_RETURN_NONE;
}

// _move_to(buffer): that one gets the memory, and this one is closed. Waits for
// calls of other threads that use it.
PyObject* MoveTo(PyObject* self, PyObject* to) {
  if (!CheckType(to, buffer_type, "a Buffer")) return nullptr;
  const auto* const handle = reinterpret_cast<Handle<hf_buffer>*>(self);
  while (handle->users > 0) {
    const WithoutGil released;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  hf_buffer* const buffer = TakeToClose<hf_buffer>(self);
  if (buffer == nullptr) Py_RETURN_NONE;
  return Adopt<hf_buffer, hf_buffer_free>(to, buffer);
}

PyMethodDef methods[] = {
    {"_allocate", Allocate, METH_VARARGS, nullptr},
    {"_allocate_shared", AllocateShared, METH_VARARGS, nullptr},
    {"_allocate_ipc", AllocateIpc, METH_VARARGS, nullptr},
    {"_ipc_handle", BufferIpcHandle, METH_NOARGS, nullptr},
    {"_import_pool", ImportPool, METH_VARARGS, nullptr},
    {"_import", ImportBuffer, METH_VARARGS, nullptr},
    {"_import_local", ImportLocalBuffer, METH_VARARGS, nullptr},
    {"_export", ExportBuffer, METH_VARARGS, nullptr},
    {"_of_graph", OfGraph, METH_VARARGS, nullptr},
    {"_sub", Sub, METH_VARARGS, nullptr},
    {"_global", Global, METH_VARARGS, nullptr},
    {"_upload", Upload, METH_VARARGS, nullptr},
    {"_download", Download, METH_VARARGS, nullptr},
    {"_copy", Copy, METH_VARARGS, nullptr},
    {"_fill", Fill, METH_VARARGS, nullptr},
    {"_address", BufferAddress, METH_NOARGS, nullptr},
    {"_close", CloseBuffer, METH_O, nullptr},
    {"_move_to", MoveTo, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"_size", Size, nullptr, nullptr, nullptr},
    {"_handle", BufferHandle, nullptr, nullptr, nullptr},
    {"_closed", IsClosed<hf_buffer>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_buffer, hf_buffer_free>)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {"holdfast._native.Buffer", sizeof(Handle<hf_buffer>), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

bool AddBuffer(PyObject* module) {
  return AddType(module, &spec, &buffer_type);
}

}  // namespace holdfast::python
