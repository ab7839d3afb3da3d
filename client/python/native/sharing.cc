// SPDX-License-Identifier: Apache-2.0
//
// Semaphores, and memory of the daemon that is mapped in this process.
#include "client/python/native/sharing.h"

#include <optional>

#include "client/python/native/method.h"
#include "client/python/native/native.h"

namespace holdfast::python {
namespace {

hf_error* Import(hf_session* session, uint32_t device, const Token& token,
                 hf_semaphore** semaphore) {
  return hf_semaphore_import(session, device, token.bytes, semaphore);
}

hf_error* Signal(const hf_semaphore* semaphore, uint64_t value,
                 std::optional<hf_stream*> stream) {
  return hf_semaphore_signal(semaphore, value, stream.value_or(nullptr));
}

PyMethodDef semaphore_methods[] = {
    Making<"_create", kQuick<hf_semaphore_create>, "session", "device",
           "value">(),
    Making<"_import", Import, "session", "device", "a token">(),
    Method<"_export", Export<hf_semaphore, hf_semaphore_export>, "writable",
           "offset", "size", "session", "lifetime", "imports", "tenant">(),
    Method<"_signal", kQuick<Signal>, "value", "stream">(),
    Method<"_wait", kQuick<hf_semaphore_wait>, "value", "stream">(),
    Method<"_value", hf_semaphore_value>(),
    Closing<"_close", hf_semaphore>(),
    {},
};

PyGetSetDef semaphore_properties[] = {
    Property<"_handle", hf_semaphore_handle>(),
    Closed<"_closed", hf_semaphore>(),
    {},
};

hf_mapping_options ToOptions(bool writable, std::optional<const char*> driver,
                             int32_t device) {
  hf_mapping_options options = HF_MAPPING_OPTIONS_INIT;
  options.writable = writable;
  options.driver = driver.value_or(nullptr);
  options.device = device;
  return options;
}

hf_error* MapLocally(const hf_buffer* buffer, bool writable,
                     std::optional<const char*> driver, int32_t device,
                     hf_mapping** mapping) {
  const hf_mapping_options options = ToOptions(writable, driver, device);
  return hf_mapping_create(buffer, &options, mapping);
}

hf_error* MapSemaphore(const hf_semaphore* semaphore, bool writable,
                       std::optional<const char*> driver, int32_t device,
                       hf_mapping** mapping) {
  const hf_mapping_options options = ToOptions(writable, driver, device);
  hf_export_options terms = HF_EXPORT_OPTIONS_INIT;
  terms.writable = writable;
  hf_local_export memory;
  hf_error* const error = hf_semaphore_export_local(semaphore, &terms, &memory);
  return error != nullptr ? error : hf_mapping_open(&memory, &options, mapping);
}

// Maps the buffer's memory, for reading, where the mapping was.
hf_error* Wake(hf_mapping* mapping, const hf_buffer* buffer) {
  const hf_export_options terms = HF_EXPORT_OPTIONS_INIT;
  hf_local_export memory;
  hf_error* const error = hf_buffer_export_local(buffer, &terms, &memory);
  return error != nullptr ? error : hf_mapping_wake(mapping, &memory);
}

PyMethodDef mapping_methods[] = {
    Method<"sleep", hf_mapping_sleep>(),
    Method<"wake", Wake, "buffer">(),
    Closing<"close", hf_mapping>(),
    {},
};

PyGetSetDef mapping_properties[] = {
    Property<"pointer", hf_mapping_pointer>(),
    Closed<"closed", hf_mapping>(),
    {},
};

PyMethodDef functions[] = {
    Function<"map_locally", MapLocally, "buffer", "writable", "driver",
             "device">(),
    Function<"map_semaphore", MapSemaphore, "semaphore", "writable", "driver",
             "device">(),
    {},
};

}  // namespace

bool AddSharing(PyObject* module) {
  return AddClass<hf_semaphore>(
             module, {"holdfast._native.Semaphore", semaphore_methods,
                      semaphore_properties}) &&
         AddClass<hf_mapping>(module, {"holdfast._native.Mapping",
                                       mapping_methods, mapping_properties}) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
