// SPDX-License-Identifier: Apache-2.0
//
// Memory that passes to and from processes outside Holdfast by CUDA's older IPC
// and by memory pools.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/cpp/device.h"
#include "core/base/status_macros.h"

using holdfast::c::Give;
using holdfast::c::Guard;

extern "C" {

hf_error* hf_buffer_allocate_ipc(hf_session* session, uint32_t device,
                                 uint64_t size, hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, buffer);
    return Give(session->session->device(device).AllocateIpc(size), buffer);
  });
}

hf_error* hf_buffer_ipc_handle(const hf_buffer* buffer, hf_ipc_memory* memory) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(buffer, memory);
    HOLDFAST_ASSIGN_OR_RETURN(const auto made, buffer->buffer.IpcHandle());
    if (made.handle.size() != HF_IPC_HANDLE_BYTES) {
      return absl::InternalError(absl::StrCat("the daemon sent a handle of ",
                                              made.handle.size(), " bytes"));
    }
    std::memcpy(memory->handle, made.handle.data(), made.handle.size());
    memory->offset = made.offset;
    memory->size = made.size;
    memory->mapped_size = made.mapped_size;
    return absl::OkStatus();
  });
}

hf_error* hf_buffer_import_pool(hf_session* session, uint32_t device, int fd,
                                const uint8_t* data, uint64_t size,
                                hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, data, buffer);
    const absl::string_view pointer(reinterpret_cast<const char*>(data),
                                    HF_IPC_HANDLE_BYTES);
    return Give(session->session->device(device).ImportPool(fd, pointer, size),
                buffer);
  });
}

}  // extern "C"
