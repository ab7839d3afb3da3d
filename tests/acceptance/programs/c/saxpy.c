/* SPDX-License-Identifier: Apache-2.0
 *
 * A first program: y = a * x + y. */
#include "checks.h"

static const char kSource[] =
    "extern \"C\" __global__ void saxpy(float a, const float* x, float* y,\n"
    "                                 size_t n) {\n"
    "  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = a * x[i] + y[i];\n"
    "}\n";

int main(void) {
  enum { kCount = 100000 };
  static float x[kCount], y[kCount];
  for (int i = 0; i < kCount; ++i) x[i] = (float)i;
  hf_daemon* daemon = Connect();
  hf_session* session;
  hf_stream* stream;
  hf_buffer *on_device_x, *on_device_y;
  Must("session", hf_session_open(daemon, NULL, &session));
  hf_kernel* kernel = Build(daemon, session, kSource, "saxpy");
  Must("stream", hf_stream_create(session, 0, NULL, &stream));
  Must("x", hf_buffer_allocate(session, 0, sizeof x, stream, &on_device_x));
  Must("y", hf_buffer_allocate(session, 0, sizeof y, stream, &on_device_y));
  Must("up", hf_buffer_upload(on_device_x, 0, x, sizeof x, stream));
  Must("up", hf_buffer_upload(on_device_y, 0, y, sizeof y, stream));
  const hf_launch_config config = Config((kCount + 255) / 256, 256);
  const hf_argument arguments[] = {hf_f32(3), hf_pointer(on_device_x),
                                   hf_pointer(on_device_y), hf_u64(kCount)};
  for (int i = 0; i < 2; ++i) {
    Must("launch", hf_launch(stream, &config, kernel, arguments, 4));
  }
  Must("down", hf_buffer_download(on_device_y, 0, y, sizeof y, stream));
  bool same = true;
  for (int i = 0; i < kCount; ++i) same = same && y[i] == 6 * (float)i;
  Holds("a hundred thousand values", same);
  hf_buffer_free(on_device_x);
  hf_buffer_free(on_device_y);
  hf_kernel_free(kernel);
  hf_stream_free(stream);
  hf_session_free(session);
  hf_daemon_free(daemon);
  return wrongs != 0;
}
