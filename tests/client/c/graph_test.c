/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs, sharing and collections by the C ABI. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/holdfast.h"
#include "tests/client/c/expect.h"

static hf_daemon* g_daemon;
static hf_session* g_session;
static hf_stream* g_stream;

static hf_kernel* LoadAdd(hf_module** module) {
  static const char kSource[] =
      "extern \"C\" __global__ void add(int* x, int n) { *x += n; }\n";
  hf_compilation* compilation;
  hf_kernel* add;
  OK(hf_compile(g_daemon, kSource, strlen(kSource), NULL, &compilation));
  OK(hf_module_load(g_session, hf_compilation_object(compilation), module));
  OK(hf_module_kernel(*module, "add", &add));
  hf_compilation_free(compilation);
  return add;
}

static int Read(hf_buffer* x) {
  int value = -1;
  OK(hf_buffer_download(x, 0, &value, sizeof value, g_stream));
  return value;
}

static void DefinesUpdatesAndDraws(hf_kernel* add, hf_buffer* x) {
  hf_definition* definition;
  hf_node* fill;
  hf_node* launch;
  const int five = 5;
  const hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  hf_argument arguments[] = {hf_pointer(x), hf_i32(2)};
  OK(hf_definition_create(&definition));
  OK(hf_node_fill(x, 0, 4, &five, 4, &fill));
  OK(hf_node_launch(&config, add, arguments, 2, &launch));
  uint32_t first = 0;
  uint32_t second = 0;
  OK(hf_definition_add(definition, fill, NULL, 0, &first));
  OK(hf_definition_add(definition, launch, &first, 1, &second));
  const uint32_t unknown = 77;
  uint32_t none = 0;
  hf_error* refused = hf_definition_add(definition, fill, &unknown, 1, &none);
  EXPECT(strstr(hf_error_message(refused), "77") != NULL && none == 0);
  hf_error_free(refused);
  EXPECT(hf_definition_size(definition) == 2);
  hf_text* text;
  const hf_handle_name name = {hf_buffer_handle(x), "x"};
  OK(hf_definition_text(definition, &name, 1, &text));
  EXPECT(strstr(hf_text_data(text), "fill 4 bytes of x") != NULL);
  hf_text_free(text);

  hf_graph* graph;
  hf_graph_exec* exec;
  OK(hf_graph_create(g_session, definition, &graph));
  OK(hf_graph_instantiate(graph, NULL, &exec));
  OK(hf_session_check(g_session));
  OK(hf_definition_dot(definition, &name, 1, "small", &text));
  EXPECT(strstr(hf_text_data(text), "digraph") != NULL);
  hf_text_free(text);
  OK(hf_graph_exec_launch(exec, g_stream));
  EXPECT(Read(x) == 7);

  arguments[1] = hf_i32(10);
  hf_node* changed;
  OK(hf_node_launch(&config, add, arguments, 2, &changed));
  OK(hf_graph_exec_set_node(exec, NULL, 0, second, changed));
  OK(hf_graph_exec_set_enabled(exec, NULL, 0, first, false));
  OK(hf_graph_exec_launch(exec, g_stream));
  EXPECT(Read(x) == 17);

  /* A graph that the daemon refuses is told by the next check. */
  hf_graph* broken;
  uint32_t declared = 0;
  OK(hf_definition_create_condition(definition, NULL, &declared));
  hf_definition* empty;
  hf_node* loop;
  OK(hf_definition_create(&empty));
  OK(hf_node_while(declared + 1000, empty, &loop));
  OK(hf_definition_add(definition, loop, &second, 1, &none));
  OK(hf_graph_create(g_session, definition, &broken));
  FAILS(hf_session_check(g_session), HF_INVALID_ARGUMENT, "condition");
  hf_graph_free(broken);

  hf_node_free(loop);
  hf_definition_free(empty);
  hf_node_free(changed);
  hf_graph_exec_free(exec);
  hf_graph_free(graph);
  hf_node_free(launch);
  hf_node_free(fill);
  hf_definition_free(definition);
}

static void CapturesAStream(hf_kernel* add, hf_buffer* x) {
  hf_capture* capture;
  hf_definition* definition;
  const int zero = 0;
  const hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  const hf_argument arguments[] = {hf_pointer(x), hf_i32(3)};
  OK(hf_capture_begin(g_stream, &capture));
  EXPECT(hf_stream_is_capturing(g_stream));
  OK(hf_buffer_fill(x, 0, 4, &zero, 4, g_stream));
  OK(hf_launch(g_stream, &config, add, arguments, 2));
  OK(hf_capture_end(capture, &definition));
  EXPECT(!hf_stream_is_capturing(g_stream));
  hf_capture_free(capture);

  uint32_t id = 0;
  const uint32_t* after = NULL;
  size_t count = 0;
  hf_node* node;
  OK(hf_definition_node(definition, 1, &id, &node, &after, &count));
  EXPECT(count == 1 && after[0] != id);
  hf_text* json;
  OK(hf_node_describe(node, &json));
  EXPECT(strstr(hf_text_data(json), "\"launch\"") != NULL);
  hf_text_free(json);
  hf_node_free(node);
  FAILS(hf_definition_node(definition, 2, &id, NULL, &after, &count),
        HF_OUT_OF_RANGE, "node number 2");

  hf_graph* graph;
  hf_graph_exec* exec;
  OK(hf_graph_create(g_session, definition, &graph));
  OK(hf_graph_instantiate(graph, NULL, &exec));
  hf_graph_free(graph);
  OK(hf_graph_exec_launch(exec, g_stream));
  EXPECT(Read(x) == 3);
  hf_graph_exec_free(exec);
  hf_definition_free(definition);
}

static void SharesABufferAndASemaphore(void) {
  hf_session* other;
  hf_stream* stream;
  hf_buffer* mine;
  hf_buffer* theirs;
  hf_semaphore* done;
  hf_semaphore* seen;
  uint8_t token[HF_TOKEN_BYTES];
  const int value = 42;
  OK(hf_session_open(g_daemon, NULL, &other));
  OK(hf_stream_create(other, 0, NULL, &stream));
  OK(hf_buffer_allocate_shared(g_session, 0, 4096, &mine));
  OK(hf_buffer_export(mine, NULL, token));
  OK(hf_buffer_import(other, 0, token, &theirs));
  EXPECT(hf_buffer_size(theirs) == 4096);
  FAILS(hf_buffer_import(other, 0, token, &theirs), HF_NOT_FOUND, "");

  OK(hf_semaphore_create(g_session, 0, 0, &done));
  OK(hf_semaphore_export(done, NULL, token));
  OK(hf_semaphore_import(other, 0, token, &seen));
  OK(hf_semaphore_wait(seen, 1, stream));
  OK(hf_buffer_upload(mine, 0, &value, sizeof value, g_stream));
  OK(hf_semaphore_signal(done, 1, g_stream));
  int read = 0;
  OK(hf_buffer_download(theirs, 0, &read, sizeof read, stream));
  EXPECT(read == 42);
  uint64_t reached = 0;
  OK(hf_semaphore_value(seen, &reached));
  EXPECT(reached == 1);
  FAILS(hf_semaphore_wait(seen, 2, g_stream), HF_INVALID_ARGUMENT,
        "different sessions");
  OK(hf_buffer_export(mine, NULL, token));
  OK(hf_session_revoke_export(g_session, token));
  FAILS(hf_buffer_import(other, 0, token, &theirs), HF_NOT_FOUND, "");

  hf_semaphore_free(seen);
  hf_semaphore_free(done);
  hf_buffer_free(theirs);
  hf_buffer_free(mine);
  hf_stream_free(stream);
  hf_session_free(other);
}

/* A graph that signals, stored and read again, for a semaphore of another. */
static void StoresAGraphThatSignals(void) {
  hf_semaphore* first;
  hf_semaphore* second;
  hf_node* nodes[2];
  hf_definition* definition;
  hf_definition* read;
  hf_definition* rebound;
  uint32_t signal, await;
  OK(hf_semaphore_create(g_session, 0, 0, &first));
  OK(hf_semaphore_create(g_session, 0, 0, &second));
  OK(hf_node_signal(first, 7, &nodes[0]));
  OK(hf_node_await(first, 7, &nodes[1]));
  OK(hf_definition_create(&definition));
  OK(hf_definition_add(definition, nodes[0], NULL, 0, &signal));
  OK(hf_definition_add(definition, nodes[1], &signal, 1, &await));
  hf_text* json;
  OK(hf_definition_json(definition, &json));
  OK(hf_definition_read(hf_text_data(json), &read));
  hf_text_free(json);
  FAILS(hf_definition_read("{\"nodes\": 7}", &rebound), HF_INVALID_ARGUMENT,
        "not a GraphDefinition");
  FAILS(hf_definition_rebind(read, NULL, 0, &rebound), HF_INVALID_ARGUMENT,
        "node 1");
  const hf_handle_pair pair = {hf_semaphore_handle(first),
                               hf_semaphore_handle(second)};
  OK(hf_definition_rebind(read, &pair, 1, &rebound));

  hf_graph* graph;
  hf_graph_exec* exec;
  uint64_t value = 0;
  OK(hf_graph_create(g_session, rebound, &graph));
  OK(hf_graph_instantiate(graph, NULL, &exec));
  OK(hf_graph_exec_launch(exec, g_stream));
  OK(hf_stream_synchronize(g_stream));
  OK(hf_semaphore_value(second, &value));
  EXPECT(value == 7);
  OK(hf_semaphore_value(first, &value));
  EXPECT(value == 0);
  hf_graph_exec_free(exec);
  hf_graph_free(graph);
  hf_definition_free(rebound);
  hf_definition_free(read);
  hf_definition_free(definition);
  hf_node_free(nodes[0]);
  hf_node_free(nodes[1]);
  hf_semaphore_free(first);
  hf_semaphore_free(second);
}

static void ExportsToAProcessWithoutASession(void) {
  hf_device_info* info;
  hf_buffer* buffer;
  hf_mapping* mapping;
  hf_local_export memory;
  OK(hf_daemon_describe_device(g_daemon, 0, &info));
  OK(hf_buffer_allocate_shared(g_session, 0, 4096, &buffer));
  hf_export_options range = HF_EXPORT_OPTIONS_INIT;
  range.offset = 1024;
  OK(hf_buffer_export_local(buffer, &range, &memory));
  EXPECT(memory.size == 3072 && memory.read_only);
  hf_mapping_options options = HF_MAPPING_OPTIONS_INIT;
  options.driver = hf_device_info_driver_path(info);
  OK(hf_mapping_open(&memory, &options, &mapping));
  EXPECT(hf_mapping_size(mapping) == 3072 && hf_mapping_pointer(mapping) != 0);
  hf_mapping_free(mapping);
  FAILS(hf_mapping_open(&memory, &options, &mapping), HF_FAILED_PRECONDITION,
        "no export");
  memory.offset = UINT64_MAX;
  FAILS(hf_mapping_open(&memory, &options, &mapping), HF_INVALID_ARGUMENT,
        "of a mapping");
  hf_buffer_free(buffer);
  hf_device_info_free(info);
}

static void CommitsAndOpensACollection(void) {
  const uint64_t shape[] = {2, 3};
  const hf_array arrays[] = {{"weights", "F32", shape, 2, 0},
                             {"bias", "F32", shape + 1, 1, 0}};
  const float values[6] = {1, 2, 3, 4, 5, 6};
  hf_write_claim* claim;
  hf_collection_writer* writer;
  hf_buffer* part;
  OK(hf_write_claim_wait(g_session, "model", &claim));
  EXPECT(hf_write_claim_writes(claim));
  OK(hf_collection_writer_create(g_session, 0, arrays, 2, &writer));
  OK(hf_collection_writer_array(writer, 0, &part));
  OK(hf_buffer_upload(part, 0, values, sizeof values, g_stream));
  hf_buffer_free(part);
  OK(hf_stream_synchronize(g_stream));
  const hf_named_bytes note = {"format", "test", 4};
  uint64_t version = 0;
  OK(hf_collection_writer_commit(writer, "model", &note, 1, &version));
  EXPECT(version == 1);
  hf_write_claim_free(claim);
  hf_collection_writer_free(writer);

  hf_collection* collection;
  OK(hf_collection_open(g_session, 0, "model", 0, &collection));
  EXPECT(hf_collection_array_count(collection) == 2);
  const hf_array weights = hf_collection_array_at(collection, 1);
  EXPECT(hf_collection_array_strides(collection, 1) == NULL);
  EXPECT(strcmp(weights.name, "weights") == 0 && weights.rank == 2 &&
         weights.shape[1] == 3 && weights.size == sizeof values);
  const char* text = NULL;
  EXPECT(strcmp(hf_collection_metadata_at(collection, 0, &text), "format") ==
             0 &&
         strcmp(text, "test") == 0);
  OK(hf_collection_array(collection, "weights", &part));
  float read[6] = {0};
  OK(hf_buffer_download(part, 0, read, sizeof read, g_stream));
  EXPECT(read[5] == 6);
  hf_buffer_free(part);
  FAILS(hf_collection_array(collection, "none", &part), HF_NOT_FOUND, "none");
  hf_collection_free(collection);

  hf_watch* watch;
  hf_change change = HF_DELETED;
  OK(hf_watch_start(g_daemon, "model", &watch));
  OK(hf_watch_next(watch, &change, &text, &version));
  EXPECT(change == HF_PRESENT && strcmp(text, "model") == 0 && version == 1);
  hf_watch_cancel(watch);
  FAILS(hf_watch_next(watch, &change, &text, &version), HF_CANCELLED, "");
  hf_watch_free(watch);
  hf_text* json;
  OK(hf_collections_describe(g_daemon, "model", 0, &json));
  EXPECT(strstr(hf_text_data(json), "weights") != NULL);
  hf_text_free(json);
  FAILS(hf_collections_configure(g_daemon, "{"), HF_INVALID_ARGUMENT, "not a");
  uint32_t deleted = 0;
  OK(hf_collections_delete(g_daemon, "model", 0, &deleted));
  EXPECT(deleted == 1);
}

int main(void) {
  hf_module* module;
  hf_buffer* x;
  OK(hf_daemon_connect("embedded:device=cpu", &g_daemon));
  OK(hf_session_open(g_daemon, NULL, &g_session));
  OK(hf_stream_create(g_session, 0, NULL, &g_stream));
  OK(hf_buffer_allocate(g_session, 0, 4, g_stream, &x));
  hf_kernel* const add = LoadAdd(&module);
  DefinesUpdatesAndDraws(add, x);
  CapturesAStream(add, x);
  SharesABufferAndASemaphore();
  StoresAGraphThatSignals();
  ExportsToAProcessWithoutASession();
  CommitsAndOpensACollection();
  hf_kernel_free(add);
  hf_module_free(module);
  hf_buffer_free(x);
  hf_stream_free(g_stream);
  hf_session_free(g_session);
  hf_daemon_free(g_daemon);
  printf("%d expectations failed\n", failures);
  return failures != 0;
}
