/* SPDX-License-Identifier: Apache-2.0
 *
 * Mistakes and faults: each is told once, with words, and the session goes on. */
#include "checks.h"

static const char kSource[] =
    "extern \"C\" __global__ void put(int* x, size_t i, int v) { x[i] = v; }\n";

int main(void) {
  int values[4] = {1, 2, 3, 4};
  hf_daemon* daemon = Connect();
  hf_session* session;
  hf_stream* stream;
  hf_buffer* x;
  hf_module* module;
  hf_kernel* missing;
  hf_kernel_info* info;
  hf_compilation* compilation;
  Must("session", hf_session_open(daemon, NULL, &session));
  Must("stream", hf_stream_create(session, 0, NULL, &stream));
  Must("x", hf_buffer_allocate(session, 0, sizeof values, stream, &x));
  Must("up", hf_buffer_upload(x, 0, values, sizeof values, stream));

  hf_error* error =
      hf_compile(daemon, "int main(", 9, NULL, &compilation);
  Holds("a source that does not compile has a log",
        error != NULL && strlen(hf_error_log(error)) > 0);
  hf_error_free(error);

  Must("compile", hf_compile(daemon, kSource, strlen(kSource), NULL,
                             &compilation));
  Must("load", hf_module_load(session, hf_compilation_object(compilation),
                              &module));
  hf_kernel* put;
  Must("put", hf_module_kernel(module, "put", &put));
  error = hf_module_kernel(module, "none", &missing);
  if (error == NULL) error = hf_kernel_describe(missing, 0, &info);
  if (error == NULL) error = hf_session_synchronize(session);
  Refused("a kernel that is not there", error, HF_NOT_FOUND, "none");
  Must("that error is not told again", hf_session_synchronize(session));

  const hf_launch_config large = Config(1, 5000);
  const hf_launch_config one = Config(1, 1);
  hf_argument arguments[] = {hf_pointer(x), hf_u64(2), hf_i32(7)};
  error = hf_launch(stream, &large, put, arguments, 3);
  if (error == NULL) error = hf_stream_synchronize(stream);
  Refused("a block of 5000 threads", error, HF_OUT_OF_RANGE, "5000");
  error = hf_launch(stream, &one, put, arguments, 2);
  if (error == NULL) error = hf_stream_synchronize(stream);
  Refused("an argument too few", error, HF_INVALID_ARGUMENT, "argument");

  arguments[1] = hf_u64(1ULL << 40);
  error = hf_launch(stream, &one, put, arguments, 3);
  if (error == NULL) error = hf_stream_synchronize(stream);
  Holds("a stray store is a fault", hf_error_code(error) == HF_ABORTED &&
                                        hf_error_fault(error) != NULL);
  hf_error_free(error);
  arguments[1] = hf_u64(2);
  Must("launch", hf_launch(stream, &one, put, arguments, 3));
  Must("down", hf_buffer_download(x, 0, values, sizeof values, stream));
  Holds("the same buffer and kernel go on", values[0] == 1 && values[1] == 2 &&
                                                values[2] == 7 &&
                                                values[3] == 4);
  hf_kernel_free(put);
  hf_module_free(module);
  hf_compilation_free(compilation);
  hf_buffer_free(x);
  hf_stream_free(stream);
  hf_session_free(session);
  hf_daemon_free(daemon);
  return wrongs != 0;
}
