// SPDX-License-Identifier: Apache-2.0
//
// Graphs of the daemon, and those that are ready to run.
#include "client/python/native/graph/graph.h"

#include <vector>

#include "client/python/native/method.h"
#include "client/python/native/native.h"

namespace holdfast::python {
namespace {

hf_error* Instantiate(const hf_graph* graph, bool auto_free_on_launch,
                      bool use_node_priority, hf_graph_exec** exec) {
  hf_graph_options options = HF_GRAPH_OPTIONS_INIT;
  options.auto_free_on_launch = auto_free_on_launch;
  options.use_node_priority = use_node_priority;
  return hf_graph_instantiate(graph, &options, exec);
}

hf_error* SetNode(const hf_graph_exec* exec,
                  const std::vector<uint32_t>& within, uint32_t id,
                  const hf_node* node) {
  return hf_graph_exec_set_node(exec, within.data(), within.size(), id, node);
}

hf_error* SetEnabled(const hf_graph_exec* exec,
                     const std::vector<uint32_t>& within, uint32_t id,
                     bool enabled) {
  return hf_graph_exec_set_enabled(exec, within.data(), within.size(), id,
                                   enabled);
}

PyMethodDef methods[] = {
    Making<"_create", kQuick<Instantiate>, "graph", "auto_free_on_launch",
           "use_node_priority">(),
    Method<"_launch", hf_graph_exec_launch, "stream">(),
    Method<"_upload", hf_graph_exec_upload, "stream">(),
    Method<"_update", kQuick<hf_graph_exec_update>, "graph">(),
    Method<"_set_node", kQuick<SetNode>, "within", "id", "node">(),
    Method<"_set_enabled", kQuick<SetEnabled>, "within", "id", "enabled">(),
    Closing<"_close", hf_graph_exec>(),
    {},
};

PyGetSetDef properties[] = {
    Property<"_handle", hf_graph_exec_handle>(),
    Closed<"_closed", hf_graph_exec>(),
    {},
};

PyMethodDef functions[] = {
    Function<"make_graph", hf_graph_create, "session", "definition">(),
    {},
};

}  // namespace

bool AddGraphs(PyObject* module) {
  return AddClass<hf_graph>(module, {"holdfast._native.DaemonGraph"}) &&
         AddClass<hf_graph_exec>(
             module, {"holdfast._native.Graph", methods, properties}) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
