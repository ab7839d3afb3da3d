// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

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
