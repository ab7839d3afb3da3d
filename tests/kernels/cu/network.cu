// SPDX-License-Identifier: Apache-2.0
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
