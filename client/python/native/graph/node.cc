// SPDX-License-Identifier: Apache-2.0
//
// The parameters of graph nodes.
#include <string>
#include <vector>

#include "client/python/native/graph/graph.h"
#include "client/python/native/kernel_arguments.h"
#include "client/python/native/method.h"
#include "client/python/native/native.h"
#include "client/python/native/place.h"

namespace holdfast::python {
namespace {

// node_launch(config, kernel, *arguments)
PyObject* LaunchNode(PyObject*, PyObject* const* objects, Py_ssize_t count) {
  if (count < 2) {
    PyErr_SetString(PyExc_TypeError,
                    "launch(config, kernel, *arguments) expected");
    return nullptr;
  }
  Argument<const hf_launch_config*> config;
  Argument<hf_kernel*> kernel;
  if (!config.Take(objects[0], "config") ||
      !kernel.Take(objects[1], "kernel")) {
    return nullptr;
  }
  Arguments arguments(objects[1],
                      *reinterpret_cast<Kernel*>(objects[1])->parameters);
  const auto given = static_cast<size_t>(count - 2);
  if (!arguments.Set(objects + 2, given)) return nullptr;
  hf_node* node = nullptr;
  hf_error* const error = hf_node_launch(config.get(), kernel.get(),
                                         arguments.data(), given, &node);
  return error != nullptr ? RaiseOfLaunch(error) : Wrap(node);
}

hf_error* Copy(const Memory& destination, uint64_t offset, const Memory& source,
               uint64_t source_offset, uint64_t size, hf_node** node) {
  const hf_place to = At(destination, offset);
  const hf_place from = At(source, source_offset);
  return hf_node_place_copy(&to, &from, size, node);
}

// Extents in bytes.
hf_error* Fill(const Memory& destination, uint64_t offset,
               const BytesToRead& pattern, uint64_t width, uint64_t height,
               uint64_t pitch, hf_node** node) {
  const hf_place to = At(destination, offset);
  return hf_node_place_fill(&to, width, height, pitch, pattern.data,
                            pattern.size, node);
}

// `peers` are the devices that access the memory, besides its own.
hf_error* Allocation(const hf_buffer* buffer, uint32_t device,
                     const std::vector<uint32_t>& peers, hf_node** node) {
  return hf_node_allocation(buffer, device, peers.data(), peers.size(), node);
}

// `kind` is "if", "while" or "switch".
PyObject* Conditional(const std::string& kind, uint32_t condition,
                      const std::vector<hf_definition*>& bodies) {
  if (bodies.empty()) {
    PyErr_SetString(PyExc_ValueError, "a conditional node without a body");
    return nullptr;
  }
  hf_node* node = nullptr;
  hf_error* error = nullptr;
  if (kind == "switch") {
    error = hf_node_switch(condition, bodies.data(), bodies.size(), &node);
  } else if (kind == "while") {
    error = hf_node_while(condition, bodies[0], &node);
  } else {
    error = hf_node_if(condition, bodies[0],
                       bodies.size() > 1 ? bodies[1] : nullptr, &node);
  }
  return error != nullptr ? Raise(error) : Wrap(node);
}

PyMethodDef methods[] = {
    Method<"set_device", kQuick<hf_node_set_device>, "device">(),
    Method<"describe", kQuick<hf_node_describe>>(),
    {},
};

PyMethodDef functions[] = {
    {"node_launch",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(LaunchNode)),
     METH_FASTCALL, nullptr},
    Function<"node_copy", kQuick<Copy>, "destination",
             "offset of the destination", "source", "offset of the source",
             "size">(),
    Function<"node_fill", kQuick<Fill>, "destination", "offset", "pattern",
             "width", "height", "pitch">(),
    Function<"node_record", kQuick<hf_node_record>, "event">(),
    Function<"node_wait", kQuick<hf_node_wait>, "event">(),
    Function<"node_empty", kQuick<hf_node_empty>>(),
    Function<"node_allocation", kQuick<Allocation>, "buffer", "device",
             "peers">(),
    Function<"node_release", kQuick<hf_node_release>, "buffer">(),
    Function<"node_child", kQuick<hf_node_child>, "definition">(),
    Function<"node_conditional", Conditional, "kind", "condition",
             "branches">(),
    {},
};

}  // namespace

bool AddNodes(PyObject* module) {
  return AddClass<hf_node>(module, {"holdfast._native.Node", methods}) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
