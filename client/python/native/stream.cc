// SPDX-License-Identifier: Apache-2.0
//
// Streams and events.
#include <optional>
#include <variant>

#include "client/python/native/method.h"
#include "client/python/native/native.h"
#include "client/python/native/sharing.h"

namespace holdfast::python {
namespace {

hf_error* CreateStream(hf_session* session, uint32_t device, int32_t priority,
                       bool blocking, hf_stream** stream) {
  hf_stream_options options = HF_STREAM_OPTIONS_INIT;
  options.priority = priority;
  options.blocking = blocking;
  return hf_stream_create(session, device, &options, stream);
}

hf_error* Wait(hf_stream* stream,
               const std::variant<hf_event*, hf_stream*>& other) {
  return other.index() == 0 ? hf_stream_wait_event(stream, std::get<0>(other))
                            : hf_stream_wait_stream(stream, std::get<1>(other));
}

// (handle or None, driver's path or None, device of this process) -> CUstream
hf_error* Pair(const hf_stream* stream, const std::optional<uint64_t>& handle,
               std::optional<const char*> driver, int32_t device,
               uint64_t* paired) {
  hf_mapping_options options = HF_MAPPING_OPTIONS_INIT;
  options.driver = driver.value_or(nullptr);
  options.device = device;
  return hf_stream_pair(stream, handle.has_value() ? &*handle : nullptr,
                        &options, paired);
}

PyMethodDef stream_methods[] = {
    Making<"_create", kQuick<CreateStream>, "session", "device", "priority",
           "blocking">(),
    Method<"_pair", Pair, "handle", "driver", "device">(),
    Method<"_sync", hf_stream_synchronize>(),
    Method<"_is_done", hf_stream_is_done>(),
    Method<"_record", hf_stream_record, "event">(),
    Method<"_wait", Wait, "other">(),
    Closing<"_close", hf_stream>(),
    {},
};

PyGetSetDef stream_properties[] = {
    Property<"_handle", hf_stream_handle>(),
    Property<"_is_capturing", hf_stream_is_capturing>(),
    Closed<"_closed", hf_stream>(),
    {},
};

hf_error* CreateEvent(hf_session* session, uint32_t device, bool timing,
                      bool blocking_sync, bool interprocess, hf_event** event) {
  hf_event_options options = HF_EVENT_OPTIONS_INIT;
  options.timing = timing;
  options.blocking_sync = blocking_sync;
  options.interprocess = interprocess;
  return hf_event_create(session, device, &options, event);
}

hf_error* ImportEvent(hf_session* session, uint32_t device, const Token& token,
                      hf_event** event) {
  return hf_event_import(session, device, token.bytes, event);
}

hf_error* ExportEvent(const hf_event* event, const char* session,
                      double lifetime, uint32_t imports, Token* token) {
  return Export<hf_event, hf_event_export>(event, /*writable=*/false,
                                           /*offset=*/0, /*size=*/0, session,
                                           lifetime, imports, "", token);
}

hf_error* ElapsedSince(const hf_event* end, const hf_event* start,
                       float* milliseconds) {
  return hf_event_elapsed(start, end, milliseconds);
}

PyMethodDef event_methods[] = {
    Making<"_create", kQuick<CreateEvent>, "session", "device", "timing",
           "blocking_sync", "interprocess">(),
    Making<"_import", ImportEvent, "session", "device", "a token">(),
    Method<"_export", ExportEvent, "session", "lifetime", "imports">(),
    Method<"_sync", hf_event_synchronize>(),
    Method<"_is_done", hf_event_is_done>(),
    Method<"_elapsed_since", ElapsedSince, "event">(),
    Closing<"_close", hf_event>(),
    {},
};

PyGetSetDef event_properties[] = {
    Property<"_handle", hf_event_handle>(),
    Closed<"_closed", hf_event>(),
    {},
};

}  // namespace

bool AddStream(PyObject* module) {
  return AddClass<hf_stream>(module, {"holdfast._native.Stream", stream_methods,
                                      stream_properties}) &&
         AddClass<hf_event>(module, {"holdfast._native.Event", event_methods,
                                     event_properties});
}

}  // namespace holdfast::python
