// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Softmax of a row a block of 128.
__device__ float BlockReduce(float value, bool most) {
  __shared__ float warps[4];
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = most ? fmaxf(value, other) : value + other;
  }
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = warps[0];
  for (int w = 1; w < 4; ++w) {
    value = most ? fmaxf(value, warps[w]) : value + warps[w];
  }
  __syncthreads();
  return value;
}

extern "C" __global__ void softmax(const float* in, float* out, int width) {
  const float* row = in + blockIdx.x * width;
  float most = __int_as_float(0xff800000);
  for (int i = threadIdx.x; i < width; i += 128) most = fmaxf(most, row[i]);
  most = BlockReduce(most, true);
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 128) sum += expf(row[i] - most);
  sum = BlockReduce(sum, false);
  for (int i = threadIdx.x; i < width; i += 128) {
    out[blockIdx.x * width + i] = expf(row[i] - most) / sum;
  }
}

extern "C" __global__ void layernorm(const float* in, const float* gain,
                                     const float* bias, float* out, int width) {
  const float* row = in + blockIdx.x * width;
  float sum = 0;
  for (int i = threadIdx.x; i < width; i += 128) sum += row[i];
  const float mean = BlockReduce(sum, false) / width;
  float square = 0;
  for (int i = threadIdx.x; i < width; i += 128) {
    square += (row[i] - mean) * (row[i] - mean);
  }
  const float deviation = sqrtf(BlockReduce(square, false) / width + 1e-5f);
  for (int i = threadIdx.x; i < width; i += 128) {
    out[blockIdx.x * width + i] =
        (row[i] - mean) / deviation * gain[i] + bias[i];
  }
}

// One head of attention over halves, a query a thread, scores on the fly.
extern "C" __global__ void attention_f16(const __half* q, const __half* k,
                                         const __half* v, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float most = __int_as_float(0xff800000), sum = 0, result[16] = {};
  for (int j = 0; j < n; ++j) {
    float score = 0;
    for (int d = 0; d < 16; ++d) {
      score += __half2float(q[i * 16 + d]) * __half2float(k[j * 16 + d]);
    }
    score *= 0.25f;
    const float next = fmaxf(most, score);
    const float old = expf(most - next), weight = expf(score - next);
    sum = sum * old + weight;
    for (int d = 0; d < 16; ++d) {
      result[d] = result[d] * old + weight * __half2float(v[j * 16 + d]);
    }
    most = next;
  }
  for (int d = 0; d < 16; ++d) out[i * 16 + d] = result[d] / sum;
}

// a * x + y in pairs of halves.
extern "C" __global__ void axpy_half2(const __half2* x, __half2* y, float a,
                                      int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}

extern "C" __global__ void round_bf16(const float* in, unsigned short* out,
                                      float* back, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __nv_bfloat16 rounded = __float2bfloat16_rn(in[i]);
  out[i] = __bfloat16_as_ushort(rounded);
  back[i] = __bfloat162float(rounded);
}

// Rows to signed bytes with one scale each; then products of such rows.
extern "C" __global__ void quantize(const float* in, int* out, float* scales,
                                    int width) {
  const float* row = in + blockIdx.x * width;
  float most = 0;
  for (int i = threadIdx.x; i < width; i += 128) {
    most = fmaxf(most, fabsf(row[i]));
  }
  most = BlockReduce(most, true);
  const float scale = most / 127.0f;
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
  for (int i = threadIdx.x; i < width / 4; i += 128) {
    unsigned packed = 0;
    for (int k = 0; k < 4; ++k) {
      const int value = __float2int_rn(row[4 * i + k] / scale);
      packed |= ((unsigned)value & 255) << (8 * k);
    }
    out[blockIdx.x * (width / 4) + i] = (int)packed;
  }
}

extern "C" __global__ void dot_int8(const int* a, const int* b, int* products,
                                    int words, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum = 0;
  for (int k = 0; k < words; ++k) {
    sum = __dp4a(a[i * words + k], b[i * words + k], sum);
  }
  products[i] = sum;
}
