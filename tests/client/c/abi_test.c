/* SPDX-License-Identifier: Apache-2.0
 *
 * The C ABI as a C program sees it: every family of functions once against a
 * private daemon, errors and their details, options of another version, and
 * what is harmless to do wrong.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp, popen, nanosleep, setenv */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/c/holdfast.h"
#include "tests/client/c/expect.h"

static const char kSource[] =
    "struct Pair { int a; float b; };\n"
    "__device__ int counter = 7;\n"
    "extern \"C\" __global__ void scale(float* x, float f, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] *= f;\n"
    "}\n"
    "extern \"C\" __global__ void add_pair(float* x, Pair p, double d,\n"
    "                                    bool yes) {\n"
    "  x[0] = p.a + p.b + d + (yes ? 100 : 0);\n"
    "}\n"
    "template <typename T> __global__ void put(T* x, T v) { *x = v; }\n";

static hf_daemon* g_daemon;
static hf_session* g_session;
static hf_stream* g_stream;
static hf_module* g_module;

static void ErrorsOfNullAreEmpty(void) {
  EXPECT(hf_error_code(NULL) == HF_OK);
  EXPECT(strcmp(hf_error_message(NULL), "") == 0);
  EXPECT(!hf_error_session_lost(NULL));
  EXPECT(hf_error_fault(NULL) == NULL);
  hf_error_free(NULL);
  EXPECT(strcmp(hf_code_name(HF_NOT_FOUND), "NOT_FOUND") == 0);
  EXPECT(strcmp(hf_code_name((hf_code)99), "UNKNOWN") == 0);
}

static void ConnectsAndRefusesAddresses(void) {
  hf_daemon* none = NULL;
  FAILS(hf_daemon_connect("nonsense", &none), HF_INVALID_ARGUMENT, "nonsense");
  FAILS(hf_daemon_connect("unix:/tmp/there-is-no-such-socket", &none),
        HF_UNAVAILABLE, "there-is-no-such-socket");
  FAILS(hf_daemon_connect("embedded:", NULL), HF_INVALID_ARGUMENT, "NULL");
  EXPECT(none == NULL);
  hf_text* address = NULL;
  OK(hf_default_address(&address));
  EXPECT(strchr(hf_text_data(address), ':') != NULL);
  hf_text_free(address);
  OK(hf_daemon_connect("embedded:", &g_daemon));
  EXPECT(strncmp(hf_daemon_address(g_daemon), "unix:", 5) == 0);
}

static void DescribesDevices(void) {
  uint32_t count = 0;
  OK(hf_daemon_device_count(g_daemon, &count));
  EXPECT(count >= 1);
  hf_device_info* info;
  OK(hf_daemon_describe_device(g_daemon, 0, &info));
  EXPECT(strlen(hf_device_info_name(info)) > 0);
  int64_t value = -1;
  EXPECT(hf_device_info_attribute(info, "warp_size", &value) && value == 32);
  EXPECT(!hf_device_info_attribute(info, "no_such_attribute", &value));
  const size_t attributes = hf_device_info_attribute_count(info);
  EXPECT(attributes > 50);
  for (size_t i = 1; i < attributes; ++i) {
    EXPECT(strcmp(hf_device_info_attribute_at(info, i - 1, &value),
                  hf_device_info_attribute_at(info, i, &value)) < 0);
  }
  uint32_t major = 0;
  uint32_t minor = 0;
  hf_device_info_compute_capability(info, &major, &minor);
  EXPECT(major >= 7);
  EXPECT(hf_device_info_total_memory(info) > 0);
  EXPECT(strlen(hf_device_info_driver_path(info)) > 0);
  hf_device_info_free(info);
  FAILS(hf_daemon_describe_device(g_daemon, 99, &info), HF_NOT_FOUND, "99");
  hf_text* json;
  OK(hf_daemon_server_info(g_daemon, &json));
  EXPECT(strstr(hf_text_data(json), "\"version\":\"") != NULL);
  EXPECT(hf_text_size(json) == strlen(hf_text_data(json)));
  hf_text_free(json);
}

/* A struct that nobody has begun with its INIT macro. */
static void OptionsOfZerosAreRefused(void) {
  hf_session_options options;
  memset(&options, 0, sizeof options);
  hf_session* session = NULL;
  hf_error* error = hf_session_open(g_daemon, &options, &session);
  EXPECT(error != NULL && hf_error_code(error) == HF_INVALID_ARGUMENT);
  EXPECT(strstr(hf_error_message(error), "INIT") != NULL);
  hf_error_free(error);
}

/* A program that was compiled when the options had fewer members. */
static void OptionsOfAnOlderVersionHaveDefaults(void) {
  hf_session_options options = HF_SESSION_OPTIONS_INIT;
  options.struct_size = offsetof(hf_session_options, devices);
  options.name = "older";
  options.devices = (const char* const*)(uintptr_t)1; /* would crash if read */
  options.device_count = 3;
  hf_session* session;
  OK(hf_session_open(g_daemon, &options, &session));
  hf_text* json;
  OK(hf_daemon_sessions(g_daemon, &json));
  EXPECT(strstr(hf_text_data(json), "\"older\"") != NULL);
  hf_text_free(json);
  hf_session_free(session);
}

static void OpensASession(void) {
  OK(hf_session_open(g_daemon, NULL, &g_session));
  size_t count = 0;
  EXPECT(hf_session_devices(g_session, &count)[0] == 0 && count >= 1);
  EXPECT(strncmp(hf_session_id(g_session), "s-", 2) == 0);
  OK(hf_stream_create(g_session, 0, NULL, &g_stream));
  EXPECT(hf_stream_device(g_stream) == 0 && hf_stream_handle(g_stream) != 0);
}

static void NoteProgress(void* user, const hf_compile_progress* progress) {
  *(int*)user += progress->queued ? 1 : 2;
}

static void TellsKindsOfParameters(const hf_compilation* compilation,
                                   const char* put) {
  const struct {
    const char* name;
    size_t count;
    hf_parameter_kind kinds[4];
  } expected[] = {
      {put, 2, {HF_INTEGER_PARAMETER, HF_INTEGER_PARAMETER}},
      {"add_pair",
       4,
       {HF_INTEGER_PARAMETER, HF_OTHER_PARAMETER, HF_FLOAT_PARAMETER,
        HF_INTEGER_PARAMETER}},
      {"scale",
       3,
       {HF_INTEGER_PARAMETER, HF_FLOAT_PARAMETER, HF_INTEGER_PARAMETER}}};
  EXPECT(hf_compilation_kernel_count(compilation) == 3);
  for (size_t i = 0; i < 3; ++i) {
    const hf_parameter_kind* kinds = NULL;
    size_t count = 0;
    const char* const name =
        hf_compilation_kernel_at(compilation, i, &kinds, &count);
    EXPECT(strcmp(name, expected[i].name) == 0);
    EXPECT(count == expected[i].count);
    EXPECT(memcmp(kinds, expected[i].kinds, count * sizeof *kinds) == 0);
  }
}

static void CompilesWithALog(void) {
  int told = 0;
  hf_compile_options options = HF_COMPILE_OPTIONS_INIT;
  const char* const words[] = {"--std=c++17"};
  const char* const names[] = {"put<int>"};
  options.options = words;
  options.option_count = 1;
  options.name_expressions = names;
  options.name_expression_count = 1;
  options.progress = NoteProgress;
  options.progress_user = &told;
  hf_compilation* compilation;
  OK(hf_compile(g_daemon, kSource, strlen(kSource), &options, &compilation));
  EXPECT(told > 0);
  const hf_object* object = hf_compilation_object(compilation);
  EXPECT(hf_object_size(object) > 0 && hf_object_symbol_count(object) >= 1);
  const char* lowered = NULL;
  EXPECT(strcmp(hf_object_symbol_at(object, 0, &lowered), "put<int>") == 0);
  EXPECT(strlen(lowered) > 0);
  OK(hf_module_load(g_session, object, &g_module));
  TellsKindsOfParameters(compilation, lowered);

  hf_text* bytes;
  OK(hf_object_fetch(g_daemon, object, &bytes));
  EXPECT(hf_text_size(bytes) == hf_object_size(object));
  hf_object* again;
  OK(hf_object_put(g_daemon, hf_text_data(bytes), hf_text_size(bytes),
                   hf_object_format(object), NULL, 0, &again));
  EXPECT(memcmp(hf_object_sha256(object), hf_object_sha256(again), 32) == 0);
  hf_object_free(again);
  hf_text_free(bytes);
  hf_compilation_free(compilation);

  hf_error* error = hf_compile(g_daemon, "int x = y;", 10, NULL, &compilation);
  EXPECT(strstr(hf_error_log(error), "\"y\" is undefined") != NULL);
  EXPECT(strstr(hf_error_message(error), "is undefined") == NULL);
  FAILS(error, HF_INVALID_ARGUMENT, "");
}

static void LaunchesWithTypedArguments(void) {
  enum { kCount = 1000 };
  float values[kCount];
  for (int i = 0; i < kCount; ++i) values[i] = (float)i;
  hf_buffer* x;
  OK(hf_buffer_allocate(g_session, 0, sizeof values, g_stream, &x));
  OK(hf_buffer_upload(x, 0, values, sizeof values, g_stream));
  hf_kernel* scale;
  OK(hf_module_kernel(g_module, "scale", &scale));
  hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  config.grid.x = 8;
  config.block.x = 128;
  const hf_argument arguments[] = {hf_pointer(x), hf_f32(3), hf_i32(kCount)};
  OK(hf_launch(g_stream, &config, scale, arguments, 3));
  OK(hf_buffer_download(x, 0, values, sizeof values, g_stream));
  EXPECT(values[10] == 30 && values[999] == 2997);

  struct {
    int a;
    float b;
  } pair = {1, 2};
  hf_kernel* add_pair;
  OK(hf_module_kernel(g_module, "add_pair", &add_pair));
  config.grid.x = config.block.x = 1;
  const hf_argument mixed[] = {hf_pointer_at(x, sizeof(float)),
                               hf_raw(&pair, sizeof pair), hf_f64(4),
                               hf_bool(true)};
  OK(hf_launch(g_stream, &config, add_pair, mixed, 4));
  OK(hf_buffer_download(x, sizeof(float), values, sizeof(float), g_stream));
  EXPECT(values[0] == 107);

  /* Told by the next call that waits. */
  OK(hf_launch(g_stream, &config, add_pair, mixed, 1));
  FAILS(hf_stream_synchronize(g_stream), HF_INVALID_ARGUMENT, "add_pair");
  OK(hf_stream_synchronize(g_stream));

  hf_argument strange = hf_i32(1);
  strange.kind = (hf_argument_kind)77;
  FAILS(hf_launch(g_stream, &config, scale, &strange, 1), HF_INVALID_ARGUMENT,
        "77");
  hf_launch_attribute attribute = {(hf_launch_attribute_kind)55, {0}};
  config.attributes = &attribute;
  config.attribute_count = 1;
  FAILS(hf_launch(g_stream, &config, scale, arguments, 3), HF_INVALID_ARGUMENT,
        "55");
  attribute.kind = HF_PREFERRED_SHARED_MEMORY_CARVEOUT;
  attribute.value.number = (INT64_C(1) << 32) + 50;
  FAILS(hf_launch(g_stream, &config, scale, arguments, 3), HF_INVALID_ARGUMENT,
        "value.number 4294967346 is out of range");
  attribute.value.number = 50;
  OK(hf_launch(g_stream, &config, scale, arguments, 3));
  attribute.kind = HF_SYNCHRONIZATION_POLICY;
  attribute.value.number = -(INT64_C(1) << 32);
  FAILS(hf_launch(g_stream, &config, scale, arguments, 3), HF_INVALID_ARGUMENT,
        "out of range");
  const hf_access_policy_window window = {x, 0, 1024, 0.5f, 1, 3};
  attribute.kind = HF_ACCESS_POLICY_WINDOW;
  attribute.value.window = NULL;
  FAILS(hf_launch(g_stream, &config, scale, arguments, 3), HF_INVALID_ARGUMENT,
        "window is NULL");
  attribute.value.window = &window;
  OK(hf_launch(g_stream, &config, scale, arguments, 3));
  OK(hf_stream_synchronize(g_stream));
  attribute.kind = HF_MEM_SYNC_DOMAIN_MAP;
  attribute.value.domains.default_domain = 0;
  attribute.value.domains.remote_domain = 1;
  OK(hf_launch(g_stream, &config, scale, arguments, 3));
  OK(hf_stream_synchronize(g_stream));
  hf_event* event;
  OK(hf_event_create(g_session, 0, NULL, &event));
  const hf_programmatic_event programmatic = {event, true};
  attribute.kind = HF_PROGRAMMATIC_EVENT;
  attribute.value.programmatic_event = &programmatic;
  OK(hf_launch(g_stream, &config, scale, arguments, 3));
  FAILS(hf_stream_synchronize(g_stream), HF_UNIMPLEMENTED,
        "CUDA_ERROR_NOT_SUPPORTED"); /* on the software device */
  hf_event_free(event);
  hf_kernel_free(add_pair);
  hf_kernel_free(scale);
  hf_buffer_free(x);
}

static void DescribesKernelsAndFindsGlobals(void) {
  hf_kernel* scale;
  OK(hf_module_kernel(g_module, "scale", &scale));
  hf_kernel_info* info;
  OK(hf_kernel_describe(scale, 0, &info));
  EXPECT(strcmp(hf_kernel_info_name(info), "scale") == 0);
  EXPECT(hf_kernel_info_parameter_count(info) == 3);
  uint64_t offset = 0;
  uint64_t size = 0;
  hf_kernel_info_parameter(info, 2, &offset, &size);
  EXPECT(offset == 12 && size == 4);
  int64_t threads = 0;
  EXPECT(hf_kernel_info_attribute(info, "max_threads_per_block", &threads));
  EXPECT(threads > 0);
  hf_kernel_info_free(info);
  uint64_t blocks = 0;
  OK(hf_occupancy_active_blocks(scale, 0, 128, 0, &blocks));
  EXPECT(blocks > 0);
  uint32_t best = 0;
  uint32_t grid = 0;
  OK(hf_occupancy_block_size(scale, 0, 0, 0, &best, &grid));
  EXPECT(best > 0 && grid > 0);
  hf_kernel_free(scale);

  hf_kernel* none;
  OK(hf_module_kernel(g_module, "no_such_kernel", &none));
  FAILS(hf_kernel_describe(none, 0, &info), HF_NOT_FOUND, "no_such_kernel");
  hf_kernel_free(none);
  OK(hf_stream_synchronize(g_stream)); /* it was told */
  hf_buffer* no_variable;
  FAILS(hf_module_global(g_module, "no_such_variable", 0, &no_variable),
        HF_NOT_FOUND, "no_such_variable");
  OK(hf_stream_synchronize(g_stream));

  hf_text* names;
  OK(hf_module_kernel_names(g_module, &names));
  EXPECT(strstr(hf_text_data(names), "add_pair\n") != NULL);
  hf_text_free(names);

  hf_buffer* counter;
  int value = 0;
  OK(hf_module_global(g_module, "counter", 0, &counter));
  OK(hf_buffer_download(counter, 0, &value, sizeof value, g_stream));
  EXPECT(value == 7 && hf_buffer_size(counter) == sizeof value);
  hf_buffer_free(counter);
}

static void CopiesAndFills(void) {
  hf_buffer* a;
  hf_buffer* b;
  hf_buffer* part;
  OK(hf_buffer_allocate(g_session, 0, 4096, g_stream, &a));
  OK(hf_buffer_allocate_host(g_session, 4096, &b));
  const uint16_t pattern = 0x1234;
  OK(hf_buffer_fill(a, 0, 4096, &pattern, sizeof pattern, g_stream));
  OK(hf_buffer_copy(b, 1024, a, 0, 1024, g_stream));
  OK(hf_buffer_sub(b, 1024, 512, &part));
  uint16_t got[256];
  OK(hf_buffer_download(part, 0, got, sizeof got, g_stream));
  EXPECT(got[0] == pattern && got[255] == pattern);
  FAILS(hf_buffer_fill(a, 0, 9, got, 3, g_stream), HF_INVALID_ARGUMENT,
        "a pattern of 3 bytes");
  const hf_box_range to = {a, 0, 64, 0};
  const hf_box_range from = {b, 1024, 64, 0};
  OK(hf_buffer_copy_box(&to, &from, 32, 8, 1, g_stream));
  const uint8_t byte = 9;
  OK(hf_buffer_fill_rows(&to, 32, 8, &byte, 1, g_stream));
  const hf_range_copy copies[] = {{a, 2048, b, 1024, 64},
                                  {a, 3000, b, 1024, 8}};
  OK(hf_buffer_copy_all(copies, 2, g_stream));
  FAILS(hf_buffer_download(a, 4000, got, 512, g_stream), HF_OUT_OF_RANGE,
        "4000");
  hf_buffer* beyond;
  FAILS(hf_buffer_sub(a, 4000, 97, &beyond), HF_OUT_OF_RANGE, "4096");
  FAILS(hf_buffer_fill(a, 4096, 1, got, 1, g_stream), HF_OUT_OF_RANGE, "4096");
  OK(hf_stream_synchronize(g_stream));
  hf_buffer_free(part);
  hf_buffer_free_on(b, g_stream);
  hf_buffer_free(a);
}

static void CopiesThroughAnArena(void) {
  hf_arena* arena;
  hf_span* span;
  hf_buffer* x;
  OK(hf_arena_create(g_session, 1 << 20, &arena));
  OK(hf_arena_allocate(arena, 8192, &span));
  memset(hf_span_data(span), 5, 4096);
  OK(hf_buffer_allocate(g_session, 0, 4096, g_stream, &x));
  OK(hf_span_to_buffer(span, 0, x, 0, 4096, g_stream));
  OK(hf_span_from_buffer(span, 4096, x, 0, 4096, g_stream));
  OK(hf_stream_synchronize(g_stream));
  EXPECT(memcmp(hf_span_data(span), (char*)hf_span_data(span) + 4096, 4096) ==
         0);
  FAILS(hf_span_to_buffer(span, 8000, x, 0, 400, g_stream), HF_OUT_OF_RANGE,
        "span of 8192");

  /* Either side of a copy, and a fill, may be memory of this process. */
  const hf_place first = {NULL, span, 0};
  const hf_place second = {NULL, span, 4096};
  const hf_place buffer = {x, NULL, 0};
  const uint16_t pattern = 0x0706;
  OK(hf_place_fill(&first, 4096, 1, 0, &pattern, 2, g_stream));
  OK(hf_place_copy(&second, &first, 4096, g_stream));
  OK(hf_place_copy(&buffer, &second, 4096, g_stream));
  OK(hf_stream_synchronize(g_stream));
  EXPECT(memcmp((char*)hf_span_data(span) + 8190, "\6\7", 2) == 0);
  FAILS(hf_place_copy(&second, &first, 4097, g_stream), HF_OUT_OF_RANGE,
        "span of 8192");
  FAILS(hf_place_fill(&second, 0, 1, 0, &pattern, 2, g_stream),
        HF_INVALID_ARGUMENT, "at least 1");
  const hf_place two = {x, span, 0};
  FAILS(hf_place_copy(&two, &first, 1, g_stream), HF_INVALID_ARGUMENT, "span");
  hf_node* node;
  OK(hf_node_place_copy(&first, &buffer, 4096, &node));
  hf_node_free(node);
  OK(hf_node_place_fill(&second, 8, 4, 16, &pattern, 2, &node));
  hf_node_free(node);

  /* A kernel uses the memory in place. */
  float* const values = (float*)hf_span_data(span);
  for (int i = 0; i < 4; ++i) values[1024 + i] = (float)i;
  hf_kernel* scale;
  OK(hf_module_kernel(g_module, "scale", &scale));
  hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  config.block.x = 32;
  hf_argument arguments[] = {hf_span_pointer_at(span, 4096), hf_f32(3),
                             hf_i32(4)};
  OK(hf_launch(g_stream, &config, scale, arguments, 3));
  OK(hf_stream_synchronize(g_stream));
  EXPECT(values[1023] != 0 && values[1024 + 3] == 9);
  config.block.x = 2048;
  FAILS(hf_launch(g_stream, &config, scale, arguments, 3), HF_OUT_OF_RANGE,
        "block (2048, 1, 1)");
  config.block.x = 32;
  arguments[0] = hf_span_pointer_at(span, 8193);
  FAILS(hf_launch(g_stream, &config, scale, arguments, 3), HF_OUT_OF_RANGE,
        "span of 8192");
  hf_kernel_free(scale);

  hf_span* none;
  FAILS(hf_arena_allocate(arena, 2 << 20, &none), HF_RESOURCE_EXHAUSTED, "");
  hf_span* same;
  OK(hf_arena_span_at(arena, hf_span_offset(span), 8192, &same));
  EXPECT(hf_span_data(same) == hf_span_data(span));
  hf_span_free(same);
  FAILS(hf_arena_span_at(arena, 1 << 20, 1, &none), HF_OUT_OF_RANGE, "");
  hf_arena* other;
  FAILS(hf_arena_create_of(g_session, -1, &other), HF_FAILED_PRECONDITION,
        "descriptor");
  hf_buffer_free(x);
  hf_arena_free(arena); /* the span keeps the memory */
  memset(hf_span_data(span), 6, 8192);
  hf_span_free(span);
}

/* Addresses go where any number goes. */
static void AddressesAreNumbers(void) {
  hf_arena* arena;
  hf_span* span;
  hf_buffer* x;
  hf_buffer* part;
  uint64_t address = 0;
  uint64_t of_part = 0;
  OK(hf_arena_create(g_session, 1 << 16, &arena));
  OK(hf_arena_allocate(arena, 64, &span));
  OK(hf_buffer_allocate(g_session, 0, 4096, g_stream, &x));
  OK(hf_buffer_sub(x, 1024, 64, &part));
  OK(hf_buffer_address(x, &address));
  OK(hf_buffer_address(part, &of_part));
  EXPECT(address != 0 && of_part == address + 1024);
  float* const values = (float*)hf_span_data(span);
  values[0] = 5;
  OK(hf_span_to_buffer(span, 0, part, 0, 4, g_stream));
  hf_kernel* scale;
  OK(hf_module_kernel(g_module, "scale", &scale));
  hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  config.block.x = 1;
  hf_argument arguments[] = {hf_u64(of_part), hf_f32(3), hf_i32(1)};
  OK(hf_launch(g_stream, &config, scale, arguments, 3));
  OK(hf_span_from_buffer(span, 4, part, 0, 4, g_stream));
  OK(hf_stream_synchronize(g_stream));
  EXPECT(values[1] == 15);
  arguments[0] = hf_u64((uint64_t)(uintptr_t)&values[1]);
  OK(hf_launch(g_stream, &config, scale, arguments, 3));
  OK(hf_stream_synchronize(g_stream));
  EXPECT(values[1] == 45);
#ifdef HOLDFAST_TSAN /* which has taken the addresses for arenas */
  FAILS(hf_span_address(span, &address), HF_FAILED_PRECONDITION, "no address");
#else
  OK(hf_span_address(span, &address));
  EXPECT(address == (uint64_t)(uintptr_t)values);
#endif
  hf_kernel_free(scale);
  hf_buffer_free(part);
  hf_buffer_free(x);
  hf_span_free(span);
  hf_arena_free(arena);
}

static void OrdersStreamsByEvents(void) {
  hf_stream* other;
  hf_event* start;
  hf_event* end;
  hf_event_options options = HF_EVENT_OPTIONS_INIT;
  options.timing = true;
  OK(hf_stream_create(g_session, 0, NULL, &other));
  OK(hf_event_create(g_session, 0, &options, &start));
  OK(hf_event_create(g_session, 0, &options, &end));
  OK(hf_stream_record(g_stream, start));
  OK(hf_stream_wait_event(other, start));
  OK(hf_stream_wait_stream(g_stream, other));
  OK(hf_stream_record(g_stream, end));
  OK(hf_event_synchronize(end));
  bool done = false;
  OK(hf_event_is_done(end, &done));
  EXPECT(done);
  OK(hf_stream_is_done(other, &done));
  EXPECT(done);
  float milliseconds = -1;
  OK(hf_event_elapsed(start, end, &milliseconds));
  EXPECT(milliseconds >= 0);
  hf_fence* fence;
  const hf_stream* streams[] = {g_stream, other};
  OK(hf_fence_create(g_session, streams, 2, &fence));
  OK(hf_fence_wait(fence));
  hf_fence_free(fence);
  hf_event_free(start);
  hf_event_free(end);
  hf_stream_free(other);
}

static bool GiveUp(void) { return false; }

/* A kernel that never ends: the wait is given up, the session can be closed. */
static void AWaitCanBeInterrupted(void) {
  static const char kEndless[] =
      "extern \"C\" __global__ void endless(volatile int* stop) {\n"
      "  while (*stop == 0) {}\n"
      "}\n";
  hf_session* session;
  hf_compilation* compilation;
  hf_module* module;
  hf_kernel* kernel;
  hf_stream* stream;
  hf_buffer* stop;
  OK(hf_session_open(g_daemon, NULL, &session));
  OK(hf_compile(g_daemon, kEndless, strlen(kEndless), NULL, &compilation));
  OK(hf_module_load(session, hf_compilation_object(compilation), &module));
  OK(hf_module_kernel(module, "endless", &kernel));
  OK(hf_stream_create(session, 0, NULL, &stream));
  OK(hf_buffer_allocate(session, 0, 4, stream, &stop));
  const int zero = 0;
  OK(hf_buffer_upload(stop, 0, &zero, sizeof zero, stream));
  hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  const hf_argument arguments[] = {hf_pointer(stop)};
  OK(hf_launch(stream, &config, kernel, arguments, 1));
  hf_set_wait_hook(GiveUp);
  FAILS(hf_stream_synchronize(stream), HF_CANCELLED, "interrupted");
  hf_set_wait_hook(NULL);

  FAILS(hf_buffer_copy(stop, 0, stop, 2, 1, g_stream), HF_INVALID_ARGUMENT,
        "different sessions");
  OK(hf_session_close(session));
  OK(hf_session_close(session));
  /* Objects of a closed session are of no more use, but harmless. */
  FAILS(hf_stream_synchronize(stream), HF_CANCELLED, "closed");
  hf_buffer_free(stop);
  hf_stream_free(stream);
  hf_kernel_free(kernel);
  hf_module_free(module);
  hf_compilation_free(compilation);
  hf_session_free(session);
}

/* One session that commits faults. */
typedef struct Stray {
  hf_session* session;
  hf_module* module;
  hf_kernel* kernel;
  hf_stream* stream;
  hf_buffer* buffer;
} Stray;

static Stray StartStray(hf_recovery recover) {
  static const char kStray[] =
      "__device__ int counter = 7;\n"
      "extern \"C\" __global__ void stray(int* x) {\n"
      "  x[1ull << 40] = counter;\n"
      "}\n";
  Stray stray;
  hf_session_options options = HF_SESSION_OPTIONS_INIT;
  options.recover = recover;
  OK(hf_session_open(g_daemon, &options, &stray.session));
  hf_compilation* compilation;
  OK(hf_compile(g_daemon, kStray, strlen(kStray), NULL, &compilation));
  OK(hf_module_load(stray.session, hf_compilation_object(compilation),
                    &stray.module));
  hf_compilation_free(compilation);
  OK(hf_module_kernel(stray.module, "stray", &stray.kernel));
  OK(hf_stream_create(stray.session, 0, NULL, &stray.stream));
  OK(hf_buffer_allocate(stray.session, 0, 4, stray.stream, &stray.buffer));
  const int value = 0x1234;
  OK(hf_buffer_upload(stray.buffer, 0, &value, sizeof value, stray.stream));
  OK(hf_stream_synchronize(stray.stream));
  return stray;
}

/* Returns what the first call that waits tells. */
static hf_error* CommitFault(const Stray* stray) {
  hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  const hf_argument arguments[] = {hf_pointer(stray->buffer)};
  OK(hf_launch(stray->stream, &config, stray->kernel, arguments, 1));
  return hf_stream_synchronize(stray->stream);
}

static void EndStray(Stray* stray) {
  hf_buffer_free(stray->buffer);
  hf_stream_free(stray->stream);
  hf_kernel_free(stray->kernel);
  hf_module_free(stray->module);
  hf_session_free(stray->session);
}

static void ExpectStrayIn(const hf_fault* fault) {
  EXPECT(fault->struct_size == sizeof(hf_fault));
  EXPECT(fault->epoch == 1);
  EXPECT(strstr(fault->cause, "CUDA_ERROR_ILLEGAL_ADDRESS") != NULL);
  EXPECT(strcmp(fault->result_name, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
  EXPECT(fault->device == 0 && strcmp(fault->kernel, "stray") == 0);
  EXPECT(fault->block == NULL || fault->block->x == 0);
  EXPECT(fault->completed_through > 0);
  EXPECT(fault->completed_through < fault->submitted_through);
  EXPECT(fault->submitted_through <= fault->received_through);
  EXPECT(fault->last_command_count > 0);
  EXPECT(strstr(fault->last_commands[fault->last_command_count - 1], ":") !=
         NULL);
  EXPECT(strstr(fault->description, "kernel stray") != NULL);
}

/* Told once, with the kernel and what was lost; then all is as before. */
static void AFaultIsToldAndCostsNoBytes(void) {
  Stray stray = StartStray(HF_RECOVER_ALWAYS);
  hf_buffer* counter;
  OK(hf_module_global(stray.module, "counter", 0, &counter));
  hf_error* error = CommitFault(&stray);
  EXPECT(hf_error_code(error) == HF_ABORTED && !hf_error_session_lost(error));
  const hf_fault* fault = hf_error_fault(error);
  EXPECT(fault != NULL);
  if (fault != NULL) {
    ExpectStrayIn(fault);
    EXPECT(fault->lost_count == 1 && fault->lost_listed == 1);
    EXPECT(fault->lost_listed == 1 &&
           fault->lost[0].handle == hf_buffer_handle(counter) &&
           strlen(fault->lost[0].reason) > 0);
  }
  hf_error_free(error);

  OK(hf_stream_synchronize(stray.stream));
  int value = 0;
  OK(hf_buffer_download(stray.buffer, 0, &value, sizeof value, stray.stream));
  EXPECT(value == 0x1234);
  error = CommitFault(&stray);
  EXPECT(hf_error_fault(error) != NULL && hf_error_fault(error)->epoch == 2);
  hf_error_free(error);
  hf_buffer_free(counter);
  EndStray(&stray);
}

static void ASessionMayBeLostInstead(void) {
  Stray stray = StartStray(HF_RECOVER_NEVER);
  hf_error* error = CommitFault(&stray);
  EXPECT(hf_error_session_lost(error) && hf_error_fault(error) == NULL);
  EXPECT(strstr(hf_error_message(error), "CUDA_ERROR_ILLEGAL_ADDRESS") != NULL);
  hf_error_free(error);
  error = hf_stream_synchronize(stray.stream);
  EXPECT(hf_error_session_lost(error));
  hf_error_free(error);
  EndStray(&stray);

  hf_session* none;
  hf_session_options options = HF_SESSION_OPTIONS_INIT;
  options.recover = (hf_recovery)77;
  FAILS(hf_session_open(g_daemon, &options, &none), HF_INVALID_ARGUMENT,
        "recover is 77");
  options.recover = HF_RECOVER_ALWAYS;
  options.kernel_time_limit = -1;
  FAILS(hf_session_open(g_daemon, &options, &none), HF_INVALID_ARGUMENT,
        "kernel_time_limit is -1");
}

/* With HF_RECOVER_ASK every call fails until the client has said so. */
static void ASessionMayAskBeforeItGoesOn(void) {
  Stray stray = StartStray(HF_RECOVER_ASK);
  FAILS(hf_session_recover(stray.session), HF_FAILED_PRECONDITION, "");
  hf_error* error = CommitFault(&stray);
  EXPECT(hf_error_fault(error) != NULL && !hf_error_session_lost(error));
  hf_error_free(error);
  int value = 0;
  error =
      hf_buffer_download(stray.buffer, 0, &value, sizeof value, stray.stream);
  EXPECT(hf_error_fault(error) != NULL);
  hf_error_free(error);
  OK(hf_session_recover(stray.session));
  OK(hf_buffer_download(stray.buffer, 0, &value, sizeof value, stray.stream));
  EXPECT(value == 0x1234);
  EndStray(&stray);
}

/* A daemon that this process's connections do not own: sessions may stay in it
 * without a client. It ends when the pipe to it is closed. */
static FILE* StartDaemon(char* directory, hf_daemon** daemon) {
  char command[512];
  EXPECT(mkdtemp(directory) != NULL);
  snprintf(command, sizeof command,
           "\"$HOLDFAST_DAEMON\" --listen=unix:%s/s --runtime-dir=%s"
           " --detached-session-limit=10m --log-level=error --watch-fd=0;"
           " rm -rf %s",
           directory, directory, directory);
  FILE* const lifeline = popen(command, "w");
  EXPECT(lifeline != NULL);
  snprintf(command, sizeof command, "unix:%s/s", directory);
  hf_error* error = hf_daemon_connect(command, daemon);
  for (int i = 0; i < 600 && error != NULL; ++i) {
    const struct timespec pause = {0, 100 * 1000 * 1000};
    nanosleep(&pause, NULL);
    hf_error_free(error);
    error = hf_daemon_connect(command, daemon);
  }
  OK(error);
  return lifeline;
}

/* Leaves a session with a buffer of these bytes. Returns the session's id. */
static char* LeaveBytes(hf_daemon* daemon, const char* bytes, size_t size) {
  hf_session_options options = HF_SESSION_OPTIONS_INIT;
  options.detached_lifetime = 300;
  hf_session* session;
  hf_stream* stream;
  hf_buffer* buffer;
  OK(hf_session_open(daemon, &options, &session));
  OK(hf_stream_create(session, 0, NULL, &stream));
  OK(hf_buffer_allocate_named(session, "weights", 0, size, stream, &buffer));
  OK(hf_buffer_upload(buffer, 0, bytes, size, stream));
  FAILS(hf_session_attach(daemon, hf_session_id(session), NULL, &session),
        HF_FAILED_PRECONDITION, "has a client");
  OK(hf_session_detach(session));
  char* const id = strdup(hf_session_id(session));
  hf_buffer_free(buffer);
  hf_stream_free(stream);
  hf_session_free(session);
  return id;
}

static void AnotherClientTakesASessionUp(void) {
  static const char kBytes[] = "bytes that stay where they are";
  char directory[] = "/tmp/holdfast-c-XXXXXX";
  hf_daemon* daemon;
  FILE* const lifeline = StartDaemon(directory, &daemon);
  char* const id = LeaveBytes(daemon, kBytes, sizeof kBytes);
  hf_session* session;
  hf_stream* stream;
  hf_buffer* buffer;
  OK(hf_session_attach(daemon, id, NULL, &session));
  EXPECT(strcmp(hf_session_id(session), id) == 0);
  FAILS(hf_buffer_take(session, "biases", &buffer), HF_NOT_FOUND, "'biases'");
  OK(hf_buffer_take(session, "weights", &buffer));
  EXPECT(hf_buffer_size(buffer) == sizeof kBytes);
  OK(hf_stream_create(session, 0, NULL, &stream));
  char found[sizeof kBytes] = "";
  OK(hf_buffer_download(buffer, 0, found, sizeof found, stream));
  EXPECT(memcmp(found, kBytes, sizeof kBytes) == 0);
  hf_buffer_free(buffer);
  hf_stream_free(stream);
  OK(hf_session_close(session));
  hf_session_free(session);
  FAILS(hf_session_attach(daemon, id, NULL, &session), HF_NOT_FOUND, id);
  /* It would end with its daemon, which is this process's own. */
  OK(hf_session_open(g_daemon, NULL, &session));
  FAILS(hf_session_detach(session), HF_FAILED_PRECONDITION, "outlive");
  hf_session_free(session);
  hf_daemon_free(daemon);
  free(id);
  EXPECT(pclose(lifeline) == 0);
}

static void LinksObjects(void) {
  static const char kMain[] =
      "extern \"C\" __device__ int twice(int);\n"
      "extern \"C\" __global__ void run(int* x) { *x = twice(21); }\n";
  static const char kLibrary[] =
      "extern \"C\" __device__ int twice(int x) { return 2 * x; }\n";
  hf_compile_options options = HF_COMPILE_OPTIONS_INIT;
  const char* const words[] = {"--relocatable-device-code=true"};
  options.options = words;
  options.option_count = 1;
  options.target = HF_PTX;
  hf_compilation* parts[2];
  OK(hf_compile(g_daemon, kMain, strlen(kMain), &options, &parts[0]));
  OK(hf_compile(g_daemon, kLibrary, strlen(kLibrary), &options, &parts[1]));
  const hf_link_input inputs[] = {{hf_compilation_object(parts[0]), "main"},
                                  {hf_compilation_object(parts[1]), NULL}};
  hf_compilation* linked;
  OK(hf_link(g_daemon, inputs, 2, NULL, &linked));
  hf_module* module;
  hf_kernel* run;
  hf_buffer* x;
  OK(hf_module_load(g_session, hf_compilation_object(linked), &module));
  OK(hf_module_kernel(module, "run", &run));
  OK(hf_buffer_allocate(g_session, 0, 4, g_stream, &x));
  hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  const hf_argument arguments[] = {hf_pointer(x)};
  OK(hf_launch(g_stream, &config, run, arguments, 1));
  int value = 0;
  OK(hf_buffer_download(x, 0, &value, sizeof value, g_stream));
  EXPECT(value == 42);
  hf_buffer_free(x);
  hf_kernel_free(run);
  hf_module_free(module);
  hf_compilation_free(linked);
  hf_compilation_free(parts[0]);
  hf_compilation_free(parts[1]);
}

static void OperatorsEndAndSuspendSessions(void) {
  hf_session* session;
  OK(hf_session_open(g_daemon, NULL, &session));
  hf_buffer* x;
  EXPECT(hf_session_flush(session) == 0);
  OK(hf_buffer_allocate(session, 0, 1 << 20, NULL, &x));
  EXPECT(hf_session_flush(session) == 1);
  EXPECT(hf_session_flush(NULL) == 0);
  OK(hf_session_synchronize(session));
  uint64_t bytes = 0;
  OK(hf_admin_suspend_session(g_daemon, hf_session_id(session), NULL, 0,
                              &bytes));
  EXPECT(bytes >= 1 << 20);
  OK(hf_admin_resume_session(g_daemon, hf_session_id(session)));
  OK(hf_session_synchronize(session));
  OK(hf_admin_end_session(g_daemon, hf_session_id(session), "maintenance"));
  FAILS(hf_session_synchronize(session), HF_UNAVAILABLE, "maintenance");
  FAILS(hf_admin_end_session(g_daemon, "s-4711", NULL), HF_NOT_FOUND, "s-4711");
  hf_buffer_free(x);
  hf_session_free(session);
  uint32_t left = 0;
  OK(hf_admin_drain(g_daemon, 0, &left));
  EXPECT(left >= 1);
  FAILS(hf_session_open(g_daemon, NULL, &session), HF_UNAVAILABLE, "drain");
  OK(hf_admin_stop_drain(g_daemon));
}

static void OperatorsMakeTenants(void) {
  hf_text* text;
  OK(hf_tenants_create(g_daemon, "{\"name\": \"job-1\", \"weight\": 2}",
                       &text));
  EXPECT(hf_text_size(text) > 16);
  hf_text_free(text);
  OK(hf_tenants_list(g_daemon, &text));
  EXPECT(strstr(hf_text_data(text), "\"job-1\"") != NULL);
  hf_text_free(text);
  FAILS(hf_tenants_create(g_daemon, "{\"name\": \"job-1\"}", &text),
        HF_ALREADY_EXISTS, "job-1");
  FAILS(hf_tenants_create(g_daemon, "{\"nonsense\": 1}", &text),
        HF_INVALID_ARGUMENT, "not a CreateTenantRequest");
  OK(hf_tenants_end(g_daemon, "job-1", NULL, &text));
  EXPECT(strstr(hf_text_data(text), "\"weight\":2") != NULL);
  hf_text_free(text);
  FAILS(hf_tenants_end(g_daemon, "job-1", NULL, &text), HF_NOT_FOUND, "job-1");
}

static void NullIsRefusedNotFollowed(void) {
  FAILS(hf_session_open(NULL, NULL, &g_session), HF_INVALID_ARGUMENT, "daemon");
  FAILS(hf_stream_synchronize(NULL), HF_INVALID_ARGUMENT, "stream is NULL");
  FAILS(hf_launch(g_stream, NULL, NULL, NULL, 0), HF_INVALID_ARGUMENT,
        "config is NULL");
  FAILS(hf_buffer_upload(NULL, 0, NULL, 4, g_stream), HF_INVALID_ARGUMENT,
        "buffer is NULL");
  hf_stream_free(NULL);
  hf_buffer_free(NULL);
  hf_session_free(NULL);
}

int main(void) {
  /* Programs that a daemon of this machine has kept would not be compiled. */
  const char* const scratch = getenv("TEST_TMPDIR");
  if (scratch != NULL) setenv("CACHE_DIRECTORY", scratch, 1);
  ErrorsOfNullAreEmpty();
  ConnectsAndRefusesAddresses();
  DescribesDevices();
  OptionsOfAnOlderVersionHaveDefaults();
  OptionsOfZerosAreRefused();
  OpensASession();
  CompilesWithALog();
  LaunchesWithTypedArguments();
  DescribesKernelsAndFindsGlobals();
  CopiesAndFills();
  CopiesThroughAnArena();
  AddressesAreNumbers();
  OrdersStreamsByEvents();
  LinksObjects();
  AWaitCanBeInterrupted();
  AFaultIsToldAndCostsNoBytes();
  ASessionMayBeLostInstead();
  ASessionMayAskBeforeItGoesOn();
  AnotherClientTakesASessionUp();
  OperatorsEndAndSuspendSessions();
  OperatorsMakeTenants();
  NullIsRefusedNotFollowed();
  hf_module_free(g_module);
  hf_stream_free(g_stream);
  hf_session_free(g_session);
  hf_daemon_free(g_daemon);
  printf("%d expectations failed\n", failures);
  return failures != 0;
}
