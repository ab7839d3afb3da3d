// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/semaphore.h"

#include <utility>

#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/c/sharing/token.h"
#include "client/cpp/device.h"
#include "core/base/status_macros.h"

using holdfast::c::Give;
using holdfast::c::Guard;

namespace holdfast::c {
namespace {

// Handles of one session name something else in another.
absl::Status CheckSessions(const hf_semaphore* semaphore,
                           const hf_stream* stream) {
  if (semaphore->semaphore.session() == stream->stream.session()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "the semaphore and the stream belong to different sessions");
}

}  // namespace
}  // namespace holdfast::c

extern "C" {

hf_error* hf_semaphore_create(hf_session* session, uint32_t device,
                              uint64_t initial_value,
                              hf_semaphore** semaphore) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, semaphore);
    return Give(session->session->device(device).CreateSemaphore(initial_value),
                semaphore);
  });
}

hf_error* hf_semaphore_import(hf_session* session, uint32_t device,
                              const uint8_t* token, hf_semaphore** semaphore) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, token, semaphore);
    return Give(session->session->device(device).ImportSemaphore(
                    holdfast::c::ToToken(token)),
                semaphore);
  });
}

void hf_semaphore_free(hf_semaphore* semaphore) { delete semaphore; }

uint64_t hf_semaphore_handle(const hf_semaphore* semaphore) {
  return semaphore->semaphore.handle();
}

hf_error* hf_semaphore_status(const hf_semaphore* semaphore) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(semaphore);
    return semaphore->semaphore.status();
  });
}

hf_error* hf_semaphore_export(const hf_semaphore* semaphore,
                              const hf_export_options* options,
                              uint8_t* token) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(semaphore, token);
    HOLDFAST_ASSIGN_OR_RETURN(const auto wanted,
                              holdfast::c::ToOptions(options));
    HOLDFAST_ASSIGN_OR_RETURN(const auto made,
                              semaphore->semaphore.Export(wanted));
    return holdfast::c::GiveToken(made, token);
  });
}

hf_error* hf_semaphore_signal(const hf_semaphore* semaphore, uint64_t value,
                              const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(semaphore);
    if (stream == nullptr) return semaphore->semaphore.Signal(value);
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::CheckSessions(semaphore, stream));
    return semaphore->semaphore.Signal(value, stream->stream);
  });
}

hf_error* hf_semaphore_wait(const hf_semaphore* semaphore, uint64_t value,
                            const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(semaphore, stream);
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::CheckSessions(semaphore, stream));
    return semaphore->semaphore.Wait(value, stream->stream);
  });
}

hf_error* hf_semaphore_value(const hf_semaphore* semaphore, uint64_t* value) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(semaphore, value);
    return Give(semaphore->semaphore.Value(), value);
  });
}

}  // extern "C"
