// SPDX-License-Identifier: Apache-2.0
__device__ float Normal(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  const float tail =
      0.39894228f * expf(-0.5f * d * d) *
      (k * (0.31938153f +
            k * (-0.356563782f +
                 k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float* price,
                                         const float* strike,
                                         const float* years, float* call,
                                         float* put, float rate,
                                         float volatility, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float root = sqrtf(years[i]);
  const float d1 = (logf(price[i] / strike[i]) +
                    (rate + 0.5f * volatility * volatility) * years[i]) /
                   (volatility * root);
  const float d2 = d1 - volatility * root;
  const float discount = strike[i] * expf(-rate * years[i]);
  call[i] = price[i] * Normal(d1) - discount * Normal(d2);
  put[i] = discount * (1.0f - Normal(d2)) - price[i] * (1.0f - Normal(d1));
}

// Points of the quarter circle, by xorshift.
extern "C" __global__ void monte_carlo(unsigned* hits, int rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state = (i + 1) * 2654435761u | 1;
  unsigned inside = 0;
  for (int r = 0; r < rounds; ++r) {
    float point[2];
    for (int k = 0; k < 2; ++k) {
      state ^= state << 13;
      state ^= state >> 17;
      state ^= state << 5;
      point[k] = (state >> 8) * (1.0f / 16777216.0f);
    }
    if (point[0] * point[0] + point[1] * point[1] < 1.0f) ++inside;
  }
  hits[i] = inside;
}

// Philox4x32, ten rounds.
extern "C" __global__ void philox(uint4* out, unsigned key0, unsigned key1) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  uint4 c = make_uint4(i, 1, 2, 3);
  for (int r = 0; r < 10; ++r) {
    const unsigned high0 = __umulhi(0xD2511F53u, c.x);
    const unsigned low0 = 0xD2511F53u * c.x;
    const unsigned high1 = __umulhi(0xCD9E8D57u, c.z);
    const unsigned low1 = 0xCD9E8D57u * c.z;
    c = make_uint4(high1 ^ c.y ^ key0, low1, high0 ^ c.w ^ key1, low0);
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  out[i] = c;
}
