// SPDX-License-Identifier: Apache-2.0
//
// Captures of streams. One that is collected before its end is dropped.
#include <optional>

#include "client/python/native/graph/graph.h"
#include "client/python/native/method.h"
#include "client/python/native/native.h"

namespace holdfast::python {
namespace {

hf_error* CreateCondition(hf_capture* capture,
                          const std::optional<uint32_t>& default_value,
                          uint32_t* condition) {
  return hf_capture_create_condition(
      capture, default_value.has_value() ? &*default_value : nullptr,
      condition);
}

PyMethodDef methods[] = {
    Method<"end", kQuick<hf_capture_end>>(),
    Method<"create_condition", kQuick<CreateCondition>, "default_value">(),
    Method<"add", kQuick<hf_capture_add>, "stream", "node">(),
    Closing<"close", hf_capture>(),
    {},
};

PyMethodDef functions[] = {
    Function<"begin_capture", kQuick<hf_capture_begin>, "stream">(),
    {},
};

}  // namespace

bool AddCaptures(PyObject* module) {
  return AddClass<hf_capture>(module, {"holdfast._native.Capture", methods}) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
