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
    HF_REQUIRE(session, stream);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_stream_options>(options, HF_STREAM_OPTIONS_INIT));
    return Give(session->session->device(device).CreateStream(
                    {.priority = all.priority, .blocking = all.blocking}),
                stream);
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
    HF_REQUIRE(stream, done);
    return Give(stream->stream.IsDone(), done);
  });
}

hf_error* hf_stream_record(hf_stream* stream, hf_event* event) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream, event);
    return stream->stream.Record(event->event);
  });
}

hf_error* hf_stream_wait_event(hf_stream* stream, const hf_event* event) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream, event);
    return stream->stream.Wait(event->event);
  });
}

hf_error* hf_stream_wait_stream(hf_stream* stream, const hf_stream* other) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(stream, other);
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
    HF_REQUIRE(session, event);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_event_options>(options, HF_EVENT_OPTIONS_INIT));
    return Give(session->session->device(device).CreateEvent(
                    {.timing = all.timing,
                     .blocking_sync = all.blocking_sync,
                     .interprocess = all.interprocess}),
                event);
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
    HF_REQUIRE(event, done);
    return Give(event->event.IsDone(), done);
  });
}

hf_error* hf_event_elapsed(const hf_event* start, const hf_event* end,
                           float* milliseconds) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(start, end, milliseconds);
    return Give(end->event.MillisecondsSince(start->event), milliseconds);
  });
}

hf_error* hf_event_status(const hf_event* event) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(event);
    return event->event.status();
  });
}

}  // extern "C"
