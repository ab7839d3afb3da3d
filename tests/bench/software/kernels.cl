// SPDX-License-Identifier: Apache-2.0
// The kernels of tests/kernels/cu that OpenCL C can say, in the same words.
#pragma OPENCL FP_CONTRACT OFF
#define X get_global_id(0)
#define Y get_global_id(1)

kernel void vector_add(global const float* a, global const float* b,
                       global float* sum, int n) {
  const int i = X;
  if (i < n) sum[i] = a[i] + b[i];
}

kernel void saxpy(global const float* x, global float* y, float a, int n) {
  const int stride = get_global_size(0);
  for (int i = X; i < n; i += stride) y[i] = a * x[i] + y[i];
}

kernel void matmul_tiled(global const float* a, global const float* b,
                         global float* c, int n) {
  local float as[16][16];
  local float bs[16][16];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const int col = get_group_id(0) * 16 + tx, row = get_group_id(1) * 16 + ty;
  float sum = 0;
  for (int t = 0; t < n / 16; ++t) {
    as[ty][tx] = a[row * n + t * 16 + tx];
    bs[ty][tx] = b[(t * 16 + ty) * n + col];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) sum += as[ty][k] * bs[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + col] = sum;
}

kernel void mandelbrot(global int* rounds, int size, int limit) {
  const int x = X, y = Y;
  if (x >= size || y >= size) return;
  const float cr = -2.0f + 3.0f * x / size;
  const float ci = -1.5f + 3.0f * y / size;
  float zr = 0, zi = 0;
  int i = 0;
  while (i < limit && zr * zr + zi * zi <= 4.0f) {
    const float next = zr * zr - zi * zi + cr;
    zi = 2.0f * zr * zi + ci;
    zr = next;
    ++i;
  }
  rounds[y * size + x] = i;
}

kernel void histogram_shared(global const uchar* data, global uint* bins,
                             int n) {
  local uint mine[256];
  for (int b = get_local_id(0); b < 256; b += get_local_size(0)) mine[b] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = X; i < n; i += get_global_size(0)) atomic_inc(&mine[data[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int b = get_local_id(0); b < 256; b += get_local_size(0)) {
    atomic_add(&bins[b], mine[b]);
  }
}

kernel void stencil_2d(global const float* in, global float* out, int width,
                       int height) {
  const int x = X, y = Y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  global const float* at = in + y * width + x;
  out[y * width + x] =
      0.5f * at[0] + 0.125f * (at[-1] + at[1] + at[-width] + at[width]);
}

kernel void bitonic_step(global uint* keys, int stride, int size) {
  const int i = X;
  const int other = i ^ stride;
  if (other <= i) return;
  const bool up = (i & size) == 0;
  const uint a = keys[i], b = keys[other];
  if ((a > b) == up) {
    keys[i] = b;
    keys[other] = a;
  }
}

kernel void nbody(global const float4* bodies, global float4* forces, int n) {
  local float4 tile[64];
  const int t = get_local_id(0);
  const float4 me = bodies[X];
  float ax = 0, ay = 0, az = 0;
  for (int start = 0; start < n; start += 64) {
    tile[t] = bodies[start + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < 64; ++j) {
      const float dx = tile[j].x - me.x;
      const float dy = tile[j].y - me.y;
      const float dz = tile[j].z - me.z;
      const float square = dx * dx + dy * dy + dz * dz + 0.01f;
      const float inverse = 1.0f / sqrt(square);
      const float scale = tile[j].w * inverse * inverse * inverse;
      ax += dx * scale;
      ay += dy * scale;
      az += dz * scale;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  forces[X] = (float4)(ax, ay, az, 0);
}

kernel void transpose_tiled(global const float* in, global float* out,
                            int width, int height) {
  local float tile[32][33];
  const int tx = get_local_id(0), ty = get_local_id(1);
  int x = get_group_id(0) * 32 + tx;
  int y = get_group_id(1) * 32 + ty;
  for (int j = 0; j < 32; j += 8) {
    if (x < width && y + j < height) tile[ty + j][tx] = in[(y + j) * width + x];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  x = get_group_id(1) * 32 + tx;
  y = get_group_id(0) * 32 + ty;
  for (int j = 0; j < 32; j += 8) {
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[tx][ty + j];
  }
}

kernel void spmv_csr(global const int* starts, global const int* columns,
                     global const float* values, global const float* x,
                     global float* y, int rows) {
  const int row = X;
  if (row >= rows) return;
  float sum = 0;
  for (int k = starts[row]; k < starts[row + 1]; ++k) {
    sum += values[k] * x[columns[k]];
  }
  y[row] = sum;
}

float Normal(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
  const float tail =
      0.39894228f * exp(-0.5f * d * d) *
      (k * (0.31938153f +
            k * (-0.356563782f +
                 k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - tail : tail;
}

kernel void black_scholes(global const float* price, global const float* strike,
                          global const float* years, global float* call,
                          global float* put, float rate, float volatility,
                          int n) {
  const int i = X;
  if (i >= n) return;
  const float root = sqrt(years[i]);
  const float d1 = (log(price[i] / strike[i]) +
                    (rate + 0.5f * volatility * volatility) * years[i]) /
                   (volatility * root);
  const float d2 = d1 - volatility * root;
  const float discount = strike[i] * exp(-rate * years[i]);
  call[i] = price[i] * Normal(d1) - discount * Normal(d2);
  put[i] = discount * (1.0f - Normal(d2)) - price[i] * (1.0f - Normal(d1));
}
