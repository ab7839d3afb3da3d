// SPDX-License-Identifier: Apache-2.0
//
// Events of other sessions and processes.
#include "client/cpp/event.h"

#include <utility>

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

}  // extern "C"
