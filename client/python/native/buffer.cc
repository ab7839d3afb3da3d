// SPDX-License-Identifier: Apache-2.0
//
// Buffers of the daemon, and addresses in them.
#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "client/python/native/method.h"
#include "client/python/native/native.h"
#include "client/python/native/sharing.h"

namespace holdfast::python {
namespace {

// Downloads up to this size can be interrupted while they wait; larger ones
// wait for the stream first, which can.
constexpr size_t kInline = 64 << 10;

// Device -1: the host's.
hf_error* Allocate(hf_session* session, int32_t device, uint64_t size,
                   std::optional<hf_stream*> stream, hf_buffer** buffer) {
  if (device < 0) return hf_buffer_allocate_host(session, size, buffer);
  return hf_buffer_allocate(session, static_cast<uint32_t>(device), size,
                            stream.value_or(nullptr), buffer);
}

hf_error* Upload(const hf_buffer* buffer, const BytesToRead& bytes,
                 uint64_t offset, const hf_stream* stream) {
  return hf_buffer_upload(buffer, offset, bytes.data, bytes.size, stream);
}

hf_error* Download(const hf_buffer* buffer, const BytesToWrite& bytes,
                   uint64_t offset, hf_stream* stream) {
  hf_error* const error =
      bytes.size > kInline ? hf_stream_synchronize(stream) : nullptr;
  if (error != nullptr) return error;
  return hf_buffer_download(buffer, offset, bytes.data, bytes.size, stream);
}

hf_error* Import(hf_session* session, uint32_t device, const Token& token,
                 hf_buffer** buffer) {
  return hf_buffer_import(session, device, token.bytes, buffer);
}

// -> (64 bytes, offset in what they open)
hf_error* ToIpcHandle(const hf_buffer* buffer, IpcHandle* handle,
                      uint64_t* offset) {
  hf_ipc_memory memory;
  if (hf_error* const error = hf_buffer_ipc_handle(buffer, &memory)) {
    return error;
  }
  std::copy_n(memory.handle, HF_IPC_HANDLE_BYTES, handle->bytes);
  *offset = memory.offset;
  return nullptr;
}

hf_error* ImportPool(hf_session* session, uint32_t device, int32_t fd,
                     const IpcHandle& pointer, uint64_t size,
                     hf_buffer** buffer) {
  return hf_buffer_import_pool(session, device, fd, pointer.bytes, size,
                               buffer);
}

hf_error* ImportLocal(hf_session* session, uint32_t device, uint64_t pointer,
                      uint64_t size, std::optional<const char*> driver,
                      int32_t local_device, hf_buffer** buffer) {
  hf_mapping_options options = HF_MAPPING_OPTIONS_INIT;
  options.driver = driver.value_or(nullptr);
  options.device = local_device;
  return hf_buffer_import_local(session, device, pointer, size, &options,
                                buffer);
}

// Freed in the order of the stream, if one is given.
PyObject* Free(PyObject* self, std::optional<hf_stream*> stream) {
  if (hf_buffer* const buffer = TakeToClose<hf_buffer>(self)) {
    const WithoutGil released;
    if (stream.has_value()) {
      hf_buffer_free_on(buffer, *stream);
    } else {
      hf_buffer_free(buffer);
    }
  }
  Py_RETURN_NONE;
}

// `to` gets the memory, and this one is closed. Waits for calls of other
// threads that use it.
PyObject* MoveTo(PyObject* self, PyObject* to) {
  using Buffer = Class<hf_buffer>;
  if (!CheckType(to, Buffer::type, Buffer::name)) return nullptr;
  while (Handle<hf_buffer>::Of(self)->users > 0) {
    const WithoutGil released;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  hf_buffer* const buffer = TakeToClose<hf_buffer>(self);
  if (buffer == nullptr) Py_RETURN_NONE;
  return Adopt(to, buffer);
}

PyMethodDef methods[] = {
    Making<"_allocate", kQuick<Allocate>, "session", "device", "size",
           "stream">(),
    Making<"_allocate_shared", kQuick<hf_buffer_allocate_shared>, "session",
           "device", "size">(),
    Making<"_allocate_ipc", kQuick<hf_buffer_allocate_ipc>, "session", "device",
           "size">(),
    Making<"_of_graph", kQuick<hf_buffer_of_graph>, "session", "size">(),
    Making<"_sub", kQuick<hf_buffer_sub>, "buffer", "offset", "size">(),
    Making<"_global", hf_module_global, "module", "name", "device">(),
    Making<"_of_collection", kQuick<hf_collection_buffer>, "collection",
           "index">(),
    Making<"_of_array", kQuick<hf_collection_array>, "collection", "name">(),
    Making<"_of_writer", kQuick<hf_collection_writer_array>, "writer",
           "index">(),
    Making<"_import", Import, "session", "device", "a token">(),
    Making<"_import_pool", ImportPool, "session", "device", "descriptor",
           "a pool's pointer", "size">(),
    Making<"_import_local", ImportLocal, "session", "device", "ptr", "size",
           "driver", "local device">(),
    Method<"_export", Export<hf_buffer, hf_buffer_export>, "writable", "offset",
           "size", "session", "lifetime", "imports", "tenant">(),
    Method<"_ipc_handle", ToIpcHandle>(),
    Method<"_upload", Upload, "array", "offset", "stream">(),
    Method<"_download", Download, "array", "offset", "stream">(),
    Method<"_address", hf_buffer_address>(),
    Method<"_close", Free, "stream">(),
    Method<"_move_to", MoveTo, "buffer">(),
    {},
};

PyGetSetDef properties[] = {
    Property<"_size", hf_buffer_size>(),
    Property<"_handle", hf_buffer_handle>(),
    Closed<"_closed", hf_buffer>(),
    {},
};

}  // namespace

bool AddBuffer(PyObject* module) {
  return AddClass<hf_buffer>(module,
                             {"holdfast._native.Buffer", methods, properties});
}

}  // namespace holdfast::python
