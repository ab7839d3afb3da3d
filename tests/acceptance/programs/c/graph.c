/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph with a loop whose end the device decides. */
#include "checks.h"

static const char kSource[] =
    "typedef unsigned long long cudaGraphConditionalHandle;\n"
    "extern \"C\" __device__ void cudaGraphSetConditional(\n"
    "    cudaGraphConditionalHandle handle, unsigned value);\n"
    "extern \"C\" __global__ void next(int* x,\n"
    "                                cudaGraphConditionalHandle again) {\n"
    "  *x = *x % 2 ? 3 * *x + 1 : *x / 2;\n"
    "  cudaGraphSetConditional(again, *x != 1);\n"
    "}\n"
    "extern \"C\" __global__ void add(int* x, int v) { *x += v; }\n";

int main(void) {
  int value = 26;
  hf_daemon* daemon = Connect();
  hf_session* session;
  hf_stream* stream;
  hf_buffer* x;
  Must("session", hf_session_open(daemon, NULL, &session));
  Must("stream", hf_stream_create(session, 0, NULL, &stream));
  Must("x", hf_buffer_allocate(session, 0, sizeof value, stream, &x));
  Must("up", hf_buffer_upload(x, 0, &value, sizeof value, stream));
  hf_kernel* next = Build(daemon, session, kSource, "next");
  hf_kernel* add = Build(daemon, session, kSource, "add");

  hf_definition *definition, *body;
  hf_node *first, *loop, *step, *last;
  uint32_t condition, ids[3];
  const uint32_t yes = 1;
  const hf_launch_config one = Config(1, 1);
  Must("definition", hf_definition_create(&definition));
  Must("body", hf_definition_create(&body));
  Must("condition",
       hf_definition_create_condition(definition, &yes, &condition));
  const hf_argument more[] = {hf_pointer(x), hf_i32(1)};
  const hf_argument again[] = {hf_pointer(x), hf_condition(condition)};
  Must("node", hf_node_launch(&one, add, more, 2, &first));
  Must("node", hf_node_launch(&one, next, again, 2, &step));
  Must("add", hf_definition_add(body, step, NULL, 0, &ids[0]));
  Must("node", hf_node_while(condition, body, &loop));
  Must("node", hf_node_launch(&one, add, more, 2, &last));
  Must("add", hf_definition_add(definition, first, NULL, 0, &ids[0]));
  Must("add", hf_definition_add(definition, loop, &ids[0], 1, &ids[1]));
  Must("add", hf_definition_add(definition, last, &ids[1], 1, &ids[2]));

  hf_graph* graph;
  hf_graph_exec* exec;
  Must("graph", hf_graph_create(session, definition, &graph));
  Must("exec", hf_graph_instantiate(graph, NULL, &exec));
  Must("launch", hf_graph_exec_launch(exec, stream));
  Must("down", hf_buffer_download(x, 0, &value, sizeof value, stream));
  Holds("27 becomes 1 after 111 turns, and 1 is added", value == 2);

  hf_graph_exec_free(exec);
  hf_graph_free(graph);
  hf_node_free(first);
  hf_node_free(loop);
  hf_node_free(step);
  hf_node_free(last);
  hf_definition_free(definition);
  hf_definition_free(body);
  hf_kernel_free(next);
  hf_kernel_free(add);
  hf_buffer_free(x);
  hf_stream_free(stream);
  hf_session_free(session);
  hf_daemon_free(daemon);
  return wrongs != 0;
}
