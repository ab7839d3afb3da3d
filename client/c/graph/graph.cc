// SPDX-License-Identifier: Apache-2.0
//
// Graphs of the daemon, and what is instantiated from them.
#include "client/cpp/graph/graph.h"

#include <utility>

#include "client/c/error.h"
#include "client/c/graph/graph_handles.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/cpp/graph/node_updates.h"
#include "core/base/status_macros.h"

using holdfast::c::Complete;
using holdfast::c::Give;
using holdfast::c::Guard;

extern "C" {

hf_error* hf_graph_create(hf_session* session, const hf_definition* definition,
                          hf_graph** graph) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, definition, graph);
    return Give(
        holdfast::Graph::Create(*session->session, definition->definition),
        graph);
  });
}

void hf_graph_free(hf_graph* graph) { delete graph; }

hf_error* hf_graph_status(const hf_graph* graph) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(graph);
    return graph->graph.status();
  });
}

hf_error* hf_graph_draw(const hf_graph* graph, bool verbose, hf_text** dot) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(graph, dot);
    HOLDFAST_ASSIGN_OR_RETURN(auto drawing, graph->graph.Draw(verbose));
    return Give(std::move(drawing), dot);
  });
}

hf_error* hf_graph_instantiate(const hf_graph* graph,
                               const hf_graph_options* options,
                               hf_graph_exec** exec) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(graph, exec);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_graph_options>(options, HF_GRAPH_OPTIONS_INIT));
    return Give(graph->graph.Instantiate(
                    {.auto_free_on_launch = all.auto_free_on_launch,
                     .use_node_priority = all.use_node_priority}),
                exec);
  });
}

void hf_graph_exec_free(hf_graph_exec* exec) { delete exec; }

uint64_t hf_graph_exec_handle(const hf_graph_exec* exec) {
  return exec->exec.handle();
}

hf_error* hf_graph_exec_status(const hf_graph_exec* exec) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(exec);
    return exec->exec.status();
  });
}

hf_error* hf_graph_exec_launch(const hf_graph_exec* exec,
                               const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(exec, stream);
    return exec->exec.Launch(stream->stream);
  });
}

hf_error* hf_graph_exec_upload(const hf_graph_exec* exec,
                               const hf_stream* stream) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(exec, stream);
    return exec->exec.Upload(stream->stream);
  });
}

hf_error* hf_graph_exec_update(const hf_graph_exec* exec,
                               const hf_graph* graph) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(exec, graph);
    return exec->exec.Update(graph->graph);
  });
}

hf_error* hf_graph_exec_set_node(const hf_graph_exec* exec,
                                 const uint32_t* within, size_t within_count,
                                 uint32_t id, const hf_node* node) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(exec, node);
    if (within_count > 0) HF_REQUIRE(within);
    holdfast::NodeUpdates updates;
    updates.Set({id}, node->params, holdfast::c::ToNodes(within, within_count));
    return exec->exec.Update(updates);
  });
}

hf_error* hf_graph_exec_set_enabled(const hf_graph_exec* exec,
                                    const uint32_t* within, size_t within_count,
                                    uint32_t id, bool enabled) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(exec);
    if (within_count > 0) HF_REQUIRE(within);
    holdfast::NodeUpdates updates;
    updates.SetEnabled({id}, enabled,
                       holdfast::c::ToNodes(within, within_count));
    return exec->exec.Update(updates);
  });
}

}  // extern "C"
