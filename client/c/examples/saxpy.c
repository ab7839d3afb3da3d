/* SPDX-License-Identifier: Apache-2.0
 *
 * y = a * x + y on the first device of a daemon, in C.
 *
 *   saxpy [ADDRESS]      without an address: a private daemon
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/c/holdfast.h"

static const char kSource[] =
    "extern \"C\" __global__ void saxpy(float a, const float* x, float* y,\n"
    "                                 unsigned long long n) {\n"
    "  unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x +\n"
    "                         threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

/* Ends the program if a call failed. */
static void Check(hf_error* error) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n%s", hf_code_name(hf_error_code(error)),
          hf_error_message(error), hf_error_log(error));
  exit(1);
}

static hf_kernel* CompileSaxpy(hf_daemon* daemon, hf_session* session) {
  hf_compilation* compilation;
  hf_module* module;
  hf_kernel* kernel;
  Check(hf_compile(daemon, kSource, strlen(kSource), NULL, &compilation));
  Check(hf_module_load(session, hf_compilation_object(compilation), &module));
  Check(hf_module_kernel(module, "saxpy", &kernel));
  /* The kernel keeps its module. */
  hf_module_free(module);
  hf_compilation_free(compilation);
  return kernel;
}

/* Replaces `y` by a * x + y. */
static void Saxpy(hf_session* session, const hf_kernel* kernel, float a,
                  const float* x, float* y, uint64_t n) {
  const uint64_t bytes = n * sizeof(float);
  hf_stream* stream;
  hf_buffer* device_x;
  hf_buffer* device_y;
  Check(hf_stream_create(session, 0, NULL, &stream));
  Check(hf_buffer_allocate(session, 0, bytes, stream, &device_x));
  Check(hf_buffer_allocate(session, 0, bytes, stream, &device_y));
  Check(hf_buffer_upload(device_x, 0, x, bytes, stream));
  Check(hf_buffer_upload(device_y, 0, y, bytes, stream));

  hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  config.block.x = 256;
  config.grid.x = (uint32_t)((n + 255) / 256);
  const hf_argument arguments[] = {hf_f32(a), hf_pointer(device_x),
                                   hf_pointer(device_y), hf_u64(n)};
  Check(hf_launch(stream, &config, kernel, arguments, 4));
  Check(hf_buffer_download(device_y, 0, y, bytes, stream));

  hf_buffer_free(device_x);
  hf_buffer_free(device_y);
  hf_stream_free(stream);
}

int main(int argc, char** argv) {
  enum { kElements = 1 << 20 };
  hf_daemon* daemon;
  hf_session* session;
  Check(hf_daemon_connect(argc > 1 ? argv[1] : "embedded:", &daemon));
  Check(hf_session_open(daemon, NULL, &session));

  float* x = malloc(kElements * sizeof *x);
  float* y = malloc(kElements * sizeof *y);
  if (x == NULL || y == NULL) return 1;
  for (int i = 0; i < kElements; ++i) {
    x[i] = (float)i;
    y[i] = 1;
  }
  hf_kernel* kernel = CompileSaxpy(daemon, session);
  Saxpy(session, kernel, 2, x, y, kElements);
  int wrong = 0;
  for (int i = 0; i < kElements; ++i) wrong += y[i] != 2 * (float)i + 1;
  printf("saxpy of %d elements: %d are wrong\n", kElements, wrong);

  free(x);
  free(y);
  hf_kernel_free(kernel);
  hf_session_free(session);
  hf_daemon_free(daemon);
  return wrong != 0;
}
