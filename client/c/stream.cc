// SPDX-License-Identifier: Apache-2.0
//
// Streams and events.
#include "client/cpp/stream.h"

#include <utility>

#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/cpp/event.h"
#include "core/base/status_macros.h"

using holdfast::c::Complete;
using holdfast::c::Give;
using holdfast::c::Guard;

extern "C" {

hf_error* hf_stream_create(hf_session* session, uint32_t device,
                           const hf_stream_options* options,
                           hf_stream** stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session);
    HF_REQUIRE(stream);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_stream_options>(options, HF_STREAM_OPTIONS_INIT));
    HOLDFAST_ASSIGN_OR_RETURN(
        auto made, session->session->device(device).CreateStream(
                       {.priority = all.priority, .blocking = all.blocking}));
    Give(std::move(made), stream);
    return absl::OkStatus();
  });
}

void hf_stream_free(hf_stream* stream) { delete stream; }

uint32_t hf_stream_device(const hf_stream* stream) {
  return stream->stream.device();
}

uint64_t hf_stream_handle(const hf_stream* stream) {
  return stream->stream.handle();
}

hf_error* hf_stream_synchronize(hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream);
    return stream->stream.Synchronize();
  });
}

hf_error* hf_stream_is_done(hf_stream* stream, bool* done) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream);
    HF_REQUIRE(done);
    HOLDFAST_ASSIGN_OR_RETURN(*done, stream->stream.IsDone());
    return absl::OkStatus();
  });
}

hf_error* hf_stream_record(hf_stream* stream, hf_event* event) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream);
    HF_REQUIRE(event);
    return stream->stream.Record(event->event);
  });
}

hf_error* hf_stream_wait_event(hf_stream* stream, const hf_event* event) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream);
    HF_REQUIRE(event);
    return stream->stream.Wait(event->event);
  });
}

hf_error* hf_stream_wait_stream(hf_stream* stream, const hf_stream* other) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream);
    HF_REQUIRE(other);
    return stream->stream.Wait(other->stream);
  });
}

hf_error* hf_stream_status(const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream);
    return stream->stream.status();
  });
}

hf_error* hf_event_create(hf_session* session, uint32_t device,
                          const hf_event_options* options, hf_event** event) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session);
    HF_REQUIRE(event);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_event_options>(options, HF_EVENT_OPTIONS_INIT));
    HOLDFAST_ASSIGN_OR_RETURN(auto made,
                              session->session->device(device).CreateEvent(
                                  {.timing = all.timing,
                                   .blocking_sync = all.blocking_sync,
                                   .interprocess = all.interprocess}));
    Give(std::move(made), event);
    return absl::OkStatus();
  });
}

void hf_event_free(hf_event* event) { delete event; }

uint64_t hf_event_handle(const hf_event* event) {
  return event->event.handle();
}

hf_error* hf_event_synchronize(hf_event* event) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(event);
    return event->event.Synchronize();
  });
}

hf_error* hf_event_is_done(hf_event* event, bool* done) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(event);
    HF_REQUIRE(done);
    HOLDFAST_ASSIGN_OR_RETURN(*done, event->event.IsDone());
    return absl::OkStatus();
  });
}

hf_error* hf_event_elapsed(const hf_event* start, const hf_event* end,
                           float* milliseconds) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(start);
    HF_REQUIRE(end);
    HF_REQUIRE(milliseconds);
    HOLDFAST_ASSIGN_OR_RETURN(*milliseconds,
                              end->event.MillisecondsSince(start->event));
    return absl::OkStatus();
  });
}

hf_error* hf_event_status(const hf_event* event) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(event);
    return event->event.status();
  });
}

}  // extern "C"
