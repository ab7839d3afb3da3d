/* SPDX-License-Identifier: Apache-2.0
 *
 * A struct by value with an array in it, and headers of the toolkit. */
#include "checks.h"

static const char kSource[] =
    "#include <cuda_fp16.h>\n"
    "struct Table { float v[40]; int count; };\n"
    "extern \"C\" __global__ void look(Table t, float* out) {\n"
    "  out[threadIdx.x] = t.v[threadIdx.x % t.count] +\n"
    "                     __half2float(__float2half(0.5f));\n"
    "}\n";

struct Table {
  float v[40];
  int count;
};

int main(void) {
  enum { kCount = 45 };
  float out[kCount];
  struct Table table;
  table.count = 40;
  for (int i = 0; i < 40; ++i) table.v[i] = (float)(1000 - i);
  hf_daemon* daemon = Connect();
  hf_session* session;
  hf_stream* stream;
  hf_buffer* buffer;
  Must("session", hf_session_open(daemon, NULL, &session));
  hf_kernel* kernel = Build(daemon, session, kSource, "look");
  Must("stream", hf_stream_create(session, 0, NULL, &stream));
  Must("out", hf_buffer_allocate(session, 0, sizeof out, stream, &buffer));
  const hf_launch_config config = Config(1, kCount);
  const hf_argument arguments[] = {hf_raw(&table, sizeof table),
                                   hf_pointer(buffer)};
  Must("launch", hf_launch(stream, &config, kernel, arguments, 2));
  Must("down", hf_buffer_download(buffer, 0, out, sizeof out, stream));
  bool same = true;
  for (int i = 0; i < kCount; ++i) {
    same = same && out[i] == table.v[i % 40] + 0.5F;
  }
  Holds("each thread has its element of the table", same);
  hf_buffer_free(buffer);
  hf_kernel_free(kernel);
  hf_stream_free(stream);
  hf_session_free(session);
  hf_daemon_free(daemon);
  return wrongs != 0;
}
