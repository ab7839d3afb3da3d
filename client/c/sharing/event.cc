// SPDX-License-Identifier: Apache-2.0
//
// Events of other sessions and processes.
#include "client/cpp/event.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/c/sharing/token.h"
#include "client/cpp/device.h"
#include "core/base/status_macros.h"

using holdfast::c::Give;
using holdfast::c::Guard;

extern "C" {

hf_error* hf_event_export(const hf_event* event,
                          const hf_export_options* options, uint8_t* token) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(event, token);
    HOLDFAST_ASSIGN_OR_RETURN(const auto wanted,
                              holdfast::c::ToOptions(options));
    HOLDFAST_ASSIGN_OR_RETURN(const auto made, event->event.Export(wanted));
    return holdfast::c::GiveToken(made, token);
  });
}

hf_error* hf_event_import(hf_session* session, uint32_t device,
                          const uint8_t* token, hf_event** event) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, token, event);
    return Give(session->session->device(device).ImportEvent(
                    holdfast::c::ToToken(token)),
                event);
  });
}

hf_error* hf_event_ipc_handle(const hf_event* event, uint8_t* handle) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(event);
    HF_REQUIRE(handle);
    HOLDFAST_ASSIGN_OR_RETURN(const std::string made, event->event.IpcHandle());
    if (made.size() != HF_IPC_HANDLE_BYTES) {
      return absl::InternalError(
          absl::StrCat("the daemon sent a handle of ", made.size(), " bytes"));
    }
    std::memcpy(handle, made.data(), made.size());
    return absl::OkStatus();
  });
}

hf_error* hf_event_import_ipc(hf_session* session, uint32_t device,
                              const uint8_t* handle, hf_event** event) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session);
    HF_REQUIRE(handle);
    HF_REQUIRE(event);
    const absl::string_view bytes(reinterpret_cast<const char*>(handle),
                                  HF_IPC_HANDLE_BYTES);
    HOLDFAST_ASSIGN_OR_RETURN(
        auto made, session->session->device(device).ImportIpcEvent(bytes));
    return Give(std::move(made), event);
  });
}

}  // extern "C"
